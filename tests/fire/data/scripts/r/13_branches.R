d <- read.csv("a.csv")
if (max(d$x) > 1000) cat("more\n") # RUN
for (v in d$x) cat("one more\n") # RUN
while (min(d$x) < 3) message("low") # RUN
if (TRUE) d else 3 # LEAK
