# Wages by sector and year
library(dplyr)
library(haven)

options(digits = 4, scipen = 999)
years <- c(2018, 2019, 2020)

d <- read_dta("wages.dta")
names(d) <- tolower(names(d))
d <- d %>%
  filter(year %in% years, !is.na(wage)) %>%
  mutate(lwage = log(wage), old = age >= 50) %>%
  select(id, year, sector, wage, lwage, old)

cat("All years\n")
summary(d)
table(d$sector)
for (y in years) {
  cat("---", y, "---\n")
  print(mean(d$wage[d$year == y]))
}
