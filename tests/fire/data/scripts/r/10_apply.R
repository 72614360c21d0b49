d <- read.csv("a.csv")
sapply(d, print) # LEAK
sapply(d$x, "print") # LEAK
lapply(split(d, d$g), function(s) print(s)) # LEAK
purrr::map(d$x, ~ print(.x)) # LEAK
Map(cat, d$x) # LEAK
invisible(lapply(d$x, function(v) cat(v, "\n"))) # LEAK
