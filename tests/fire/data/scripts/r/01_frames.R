d <- read.csv("persons.csv")
cat("persons read\n")
print(d) # LEAK
d # LEAK
head(d, 3) # LEAK
View(d) # LEAK
str(d) # LEAK
summary(d) # SAFE
