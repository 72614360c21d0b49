# One closing line out of those of `make test` and `make test-more`.
# In: the log of both. Out: the sums, in the form of pytest, and what each of the two counted.
# Exit code 1 if one of them did not finish.
/^=+ .* in [0-9.]+s.*=+$/ {
    gsub(/=/, "")
    split($0, half, / in /)
    number = split(half[1], counts, /, */)
    part[++runs] = half[1]
    seconds += half[2]
    for (at = 1; at <= number; at++) {
        split(counts[at], one, " ")
        if (!(one[2] in sum)) order[++kinds] = one[2]
        sum[one[2]] += one[1]
    }
}
END {
    if (runs != 2) { print "the tests did not finish"; exit 1 }
    for (at = 1; at <= kinds; at++)
        if (order[at] != "deselected")
            line = line (line == "" ? "" : ", ") sum[order[at]] " " order[at]
    sub(/^ +/, "", part[1]); sub(/^ +/, "", part[2])
    printf "==== %s in %.2fs (test: %s; test-more: %s) ====\n", line, seconds, part[1], part[2]
}
