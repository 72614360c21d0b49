*! fdzcheck: whether statistics of one variable in one group may be shown
*! NOT YET RUN IN STATA: certify it before use, see README.md
* In:  a numeric variable, a marker of the group, the rules.
* Out: locals of the calling program: fdz_n (cases), fdz_ok (1 if safe), fdz_missing (1 if none)
* Rules: enough cases, or entities; values not all the same; the (2,k) and the p% rule on
*        absolute contributions, and on the weights: one weight above all others would make a
*        weighted mean the value of one case.
program fdzcheck, sortpreserve
    version 14
    syntax varname(numeric) [if] [aweight fweight iweight pweight] [, MINimum(real 3) K(real 85) P(real 18) ENTity(varname)]
    tempvar touse size first
    mark `touse' `if'
    markout `touse' `varlist'
    quietly count if `touse'
    local n = r(N)
    c_local fdz_n `n'
    c_local fdz_missing = (`n' == 0)
    if "`entity'" != "" {
        quietly egen byte `first' = tag(`entity') if `touse'
        quietly count if `first' == 1
        local n = r(N)
    }
    local ok = `n' >= `minimum'
    if `ok' {
        quietly summarize `varlist' if `touse', meanonly
        local ok = r(min) < r(max)
    }
    if `ok' {
        tempvar heavy
        local parts size
        if "`weight'" == "" {
            quietly generate double `heavy' = 1 if `touse'
        }
        else {
            quietly generate double `heavy' `exp' if `touse'
            quietly replace `heavy' = abs(`heavy')
            local parts size heavy
        }
        quietly generate double `size' = abs(`varlist') * `heavy' if `touse'
        foreach part of local parts {
            if "`entity'" != "" {
                tempvar total
                quietly egen double `total' = total(``part'') if `touse', by(`entity')
                quietly replace ``part'' = cond(`first' == 1, `total', .)
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
    c_local fdz_ok `ok'
end
