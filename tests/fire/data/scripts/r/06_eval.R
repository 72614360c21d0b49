d <- read.csv("a.csv")
eval(parse(text = "print(d)")) # LEAK
source("more.R") # LEAK
do.call("print", list(d)) # LEAK
do.call(print, list(d)) # LEAK
get("print")(d) # LEAK
match.fun("print")(d) # LEAK
