d <- read.csv("a.csv")
system(paste("echo", max(d$x))) # LEAK
x <- system2("ls", stdout = TRUE) # LEAK
Sys.setenv(A = max(d$x)) # LEAK
download.file("http://a", "b") # LEAK
install.packages("a") # LEAK
