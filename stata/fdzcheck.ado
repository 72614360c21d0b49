*! fdzcheck: whether statistics of one variable in one group may be shown
*! NOT YET RUN IN STATA: certify it before use, see README.md
* In:  a numeric variable, a marker of the group, the rules.
* Out: locals of the calling program: fdz_n (cases, or entities), fdz_ok (1 if the mean may be
*      shown), fdz_spread (1 if the deviation may be shown beside it), fdz_missing (1 if none)
* Rules: enough cases, or entities, and every row has one; values not all the same, nor all but
*        a few; the (2,k) and the p% rule on absolute contributions, and on the weights: one
*        weight above all others would make a weighted mean the value of one case. Mean and
*        deviation do not go together where they can be solved for a value: of very few cases, or
*        where one lies far from all others.
program fdzcheck, rclass sortpreserve
    version 14
    syntax varname(numeric) [if] [in] [aweight fweight iweight pweight] [, MINimum(real 3) ///
        K(real 85) P(real 18) ENTity(string)]
    tempvar touse size first run other
    if "`weight'" == "" {
        mark `touse' `if' `in'
    }
    else {
        * Rows without a weight, or with weight 0, count for nothing.
        mark `touse' [`weight'`exp'] `if' `in'
    }
    markout `touse' `varlist'
    quietly count if `touse'
    local n = r(N)
    local none = `n' == 0
    local ok 1
    if "`entity'" != "" {
        quietly count if `touse' & missing(`entity')
        local ok = r(N) == 0
        quietly egen byte `first' = tag(`entity') if `touse'
        quietly count if `first' == 1
        local n = r(N)
    }
    local ok = `ok' & `n' >= `minimum'
    if `ok' {
        * The most frequent value comes first: how many have another one?
        quietly bysort `touse' `varlist': generate long `run' = _N if `touse'
        gsort -`run' `varlist'
        quietly generate byte `other' = `touse' & `varlist' != `varlist'[1]
        if "`entity'" != "" {
            tempvar changed
            quietly egen byte `changed' = tag(`entity') if `other'
            quietly count if `changed' == 1
        }
        else {
            quietly count if `other'
        }
        local others = r(N)
        local alike = `others' < `minimum' & `n' - `others' >= `minimum'
        local ok = `others' > 0 & !`alike'
    }
    if `ok' {
        tempvar heavy factor
        local parts size
        if "`weight'" == "" {
            quietly generate double `heavy' = 1 if `touse'
        }
        else {
            quietly generate double `heavy' `exp' if `touse'
            quietly replace `heavy' = abs(`heavy')
            local parts size heavy
        }
        quietly generate double `factor' = `heavy'
        quietly generate double `size' = abs(`varlist') * `heavy' if `touse'
        if "`entity'" != "" {
            * What an entity contributes is the sum of its rows, whatever cancels out.
            quietly replace `size' = `varlist' * `heavy' if `touse'
        }
        foreach part of local parts {
            if "`entity'" != "" {
                tempvar total
                quietly egen double `total' = total(``part'') if `touse', by(`entity')
                quietly replace ``part'' = cond(`first' == 1, abs(`total'), .)
            }
            quietly summarize ``part'', meanonly
            local all = r(sum)
            * Missing values stand behind all others: the largest come first.
            gsort -``part''
            local one = cond(missing(``part''[1]), 0, ``part''[1])
            local two = cond(missing(``part''[2]), 0, ``part''[2])
            if `all' > 0 {
                local ok = `ok' & 100 * (`one' + `two') <= `k' * `all'
                local ok = `ok' & 100 * (`all' - `one' - `two') >= `p' * `one'
            }
        }
    }
    local spread = `ok' & `n' > max(`minimum', 2)
    if `spread' {
        * One case far from all others makes up nearly all of the deviation, and can be solved for.
        tempvar square
        quietly summarize `varlist' [aweight = `factor'] if `touse'
        quietly generate double `square' = `factor' * (`varlist' - r(mean))^2 if `touse'
        if "`entity'" != "" {
            tempvar together
            quietly egen double `together' = total(`square') if `touse', by(`entity')
            quietly summarize `square', meanonly
            local squares = r(sum)
            quietly summarize `together', meanonly
        }
        else {
            quietly summarize `square', meanonly
            local squares = r(sum)
        }
        local spread = r(max) <= (.99 - 1 / `n') * `squares'
    }
    c_local fdz_n `n'
    c_local fdz_missing `none'
    c_local fdz_ok `ok'
    c_local fdz_spread `spread'
end
