d <- read.csv("a.csv")
write.csv(d, "out.csv") # LEAK
saveRDS(d, "out.rds") # LEAK
save(d, file = "out.RData") # LEAK
sink("log.txt") # LEAK
dput(d) # LEAK
dump("d", "d.R") # LEAK
