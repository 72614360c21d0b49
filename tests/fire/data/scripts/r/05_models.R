d <- read.csv("a.csv")
fit <- lm(y ~ x, data = d)
summary(fit) # SAFE
fit # SAFE
residuals(fit) # LEAK
fitted(fit)[1:5] # LEAK
fit$residuals # LEAK
hatvalues(fit) # LEAK
plot(fit) # LEAK
