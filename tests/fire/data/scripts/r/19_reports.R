d <- read.csv("a.csv")
knitr::kable(head(d)) # LEAK
stargazer(d, summary = FALSE) # LEAK
capture.output(print(d), file = "a.txt") # LEAK
writeLines(as.character(d$x)) # LEAK
cat(format(d$x), sep = "\n") # LEAK
