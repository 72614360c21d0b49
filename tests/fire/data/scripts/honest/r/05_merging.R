library(data.table)

persons <- fread("persons.csv")
households <- fread("households.csv")
setkey(persons, hh)
setkey(households, hh)
merged <- merge(persons, households, by = "hh", all.x = TRUE)
merged[, adult := as.integer(age >= 18)]
income <- merged[, .(income = sum(income), size = .N), by = hh]
income[, per_head := income / size]
message("describing")
summary(income$per_head)
sd(income$per_head)
