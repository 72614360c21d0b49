*! fdzparameters: gives the rules of the centre to the calling program, never to a log
*! NOT YET RUN IN STATA: certify it before use, see README.md
* In:  fdz_parameters.txt on the adopath of the server, lines like: minimum 3
*      and, from the known option, critical(p). Beside a file it can only make the rule stricter,
*      but for a line critical #, the smallest p that a program may ask for.
* Out: locals of the calling program: fdz_minimum fdz_k fdz_p fdz_cases fdz_df
* With evidence(command variables) touse(varname): leaves for the runner of the server which
* records the command is about; nothing where no runner has started Stata.
program fdzparameters, rclass
    version 14
    syntax [, CRItical(string) EVidence(string) touse(varname) by(string)]
    if "`evidence'" != "" {
        capture fdzparameters_tell `evidence', touse(`touse') by(`by')
        exit
    }
    local minimum 3
    local cases 3
    local df 10
    local k 85
    local p .
    local least .
    local server 0
    capture quietly findfile fdz_parameters.txt
    if _rc == 0 {
        local server 1
        tempname rules
        file open `rules' using `"`r(fn)'"', read text
        file read `rules' line
        while r(eof) == 0 {
            tokenize `"`line'"'
            if inlist("`1'", "minimum", "cases", "df", "k", "p", "critical") {
                capture confirm number `2'
                if _rc {
                    file close `rules'
                    display as error "FDZ: the parameters of the server cannot be read"
                    exit 198
                }
                if "`1'" == "critical" {
                    local 1 least
                }
                local `1' `2'
            }
            file read `rules' line
        }
        file close `rules'
    }
    if "`critical'" != "" {
        capture confirm number `critical'
        if _rc == 0 {
            * A condition on a number that is not above 0 would switch the rule off.
            capture assert `critical' > 0 & `critical' <= 100
        }
        if _rc {
            display as error "FDZ: critical() takes a number above 0, up to 100"
            exit 198
        }
    }
    if "`p'" == "." {
        local p = 100 * (100 - `k') / `k'
    }
    if "`critical'" != "" {
        if "`least'" == "." {
            local least `p'
        }
        local asked = cond(`server', max(`least', `critical'), `critical')
        local own = 100 * 100 / (100 + `asked')
        local k = cond(`server' & `asked' >= `p', min(`k', `own'), `own')
        local p `asked'
    }
    c_local fdz_minimum `minimum'
    c_local fdz_cases `cases'
    c_local fdz_df `df'
    c_local fdz_k `k'
    c_local fdz_p `p'
end

* The records in a file, and a line that names it. What fails leaves no evidence, and then a person
* looks at the output.
program fdzparameters_tell
    version 14
    syntax anything, touse(varname) [by(string)]
    local place : environment DISCREET_EVIDENCE
    if `"`place'"' == "" {
        exit
    }
    gettoken command names : anything
    local names = trim("`names'")
    local number 0
    local taken 0
    while !`taken' {
        local number = `number' + 1
        capture confirm file `"`place'_`number'.dta"'
        local taken = _rc
    }
    capture confirm variable fdz_place
    local more = cond(_rc, "", "fdz_place")
    preserve
    quietly keep if `touse'
    keep `names' `by' `more'
    quietly save `"`place'_`number'.dta"'
    restore
    tempname out
    file open `out' using `"`place'"', write append text
    file write `out' `"{"command": "`command'", "number": `number', "variables": "`names'", "by": "`by'"}"' _n
    file close `out'
end
