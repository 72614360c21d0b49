d <- read.csv("panel.csv")
d$educ2 <- d$educ^2
d$sector <- factor(d$sector)

m1 <- lm(lwage ~ educ + educ2, data = d)
m2 <- lm(lwage ~ educ + educ2 + I(age^2) + log(tenure) + sector, data = d)
summary(m1)
summary(m2)
