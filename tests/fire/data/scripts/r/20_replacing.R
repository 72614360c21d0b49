d <- read.csv("a.csv")
print <- function(x) x # RUN
summary <- head # RUN
unlockBinding("fdz_mean", globalenv()) # LEAK
setMethod("show", "a", function(object) cat(object@x)) # LEAK
print.mine <- function(x, ...) cat(x$secret) # LEAK
