library(ggplot2)
d <- read.csv("a.csv")
plot(d$x, d$y) # LEAK
points(d$x, d$y) # LEAK
hist(d$x) # LEAK
boxplot(x ~ g, data = d) # LEAK
ggplot(d, aes(x, y)) + geom_point() # LEAK
