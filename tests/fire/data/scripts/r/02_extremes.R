d <- read.csv("firms.csv")
max(d$turnover) # LEAK
range(d$turnover) # LEAK
d[which.max(d$turnover), ] # LEAK
cat("largest", max(d$turnover), "\n") # LEAK
message(sprintf("%f", min(d$turnover))) # LEAK
quantile(d$turnover, 0.999) # SAFE
