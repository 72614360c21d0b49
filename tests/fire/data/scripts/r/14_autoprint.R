d <- read.csv("a.csv")
x <- 3
x
(y <- d$x) # LEAK
{
  z <- d$x
  z # LEAK
}
d$x[1] # LEAK
d[["x"]] # LEAK
y; z # LEAK
