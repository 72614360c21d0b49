d <- read.csv("a.csv")
table(d$g) # SAFE
print(table(d$g, d$h)) # SAFE
xtabs(~ g + h, data = d) # LEAK
mean(d$x) # SAFE
sd(d$x) # SAFE
cor(d$x, d$y) # SAFE
tapply(d$x, d$g, max) # LEAK
aggregate(x ~ g, d, min) # LEAK
