d <- read.csv("a.csv")
if (max(d$x) > 1000) cat("more\n") # REVIEW
for (v in d$x) cat("one more\n") # REVIEW
while (min(d$x) < 3) message("low") # REVIEW
if (TRUE) d else 3 # LEAK
