d <- read.csv("a.csv")
stop(max(d$x)) # LEAK
warning(paste("max", max(d$x))) # LEAK
stopifnot(max(d$x) < 3) # LEAK
tryCatch(f(d), error = function(e) print(e)) # LEAK
