d <- read.csv("a.csv")
assign("shown", print) # LEAK
names(d)[1] <- "x"
label <- "run"
label <- paste(label, max(d$x))
cat(label) # LEAK
environment(f)$x # LEAK
attach(d) # LEAK
