d <- read.csv("a.csv")
ours::report(d) # LEAK REVIEW
special_table(d) # LEAK REVIEW
r <- special_table(d) # REVIEW
print(r) # LEAK
d %mine% 3 # LEAK REVIEW
