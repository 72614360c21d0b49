*! fdzrun: runs a command whose name is known at run time only, under the rules of the centre
*! NOT YET RUN IN STATA: certify it before use, see README.md
* Syntax:  fdzrun <command line>
* Rules:   fdz_policy.txt on the adopath, made by: discreet fire policy --out fdz_policy.txt
*          Lines are: name action safe. Without the file nothing runs.
* What it does: takes simple prefixes off, looks the command up by its full name, and runs it,
* or its safe command, or nothing. Commands in no rule do not run.
program fdzrun, byable(onecall)
    version 14
    local by
    if _by() {
        local by "by `_byvars'`_byrc0':"
    }
    local line `"`macval(0)'"'
    local prefix
    gettoken word rest : line, parse(" ,:*")
    while inlist(`"`word'"', "qui", "quietly", "noi", "noisily", "cap", "capture") {
        local prefix `"`prefix' `word'"'
        gettoken word rest : rest, parse(" ,:*")
        if `"`word'"' == ":" {
            gettoken word rest : rest, parse(" ,:*")
        }
    }
    if inlist(`"`word'"', "", "*") {
        exit
    }
    * These would act inside this program and not where they were called.
    foreach name in local tempvar tempname tempfile args syntax marksample preserve {
        if `"`word'"' == "`name'" {
            fdzrun_refuse `word'
            exit
        }
    }
    * Looking it up must not cost the caller the stored results.
    tempname held
    _return hold `held'
    capture unabcmd `word'
    local full = cond(_rc == 0, "`r(cmd)'", `"`word'"')
    fdzrun_rule `full' `rest'
    _return restore `held'
    local action `"`s(action)'"'
    local safe `"`s(safe)'"'
    if "`action'" == "allowed" {
        `prefix' `by' `word' `macval(rest)'
    }
    else if "`action'" == "wrapped" & substr("`safe'", -1, 1) == "+" {
        local runner = substr("`safe'", 1, length("`safe'") - 1)
        `prefix' `by' `runner' `word' `macval(rest)'
    }
    else if "`action'" == "wrapped" {
        `prefix' `by' `safe' `macval(rest)'
    }
    else {
        fdzrun_refuse `word'
    }
end

* The rule of a command; the rule on its second word counts first.
program fdzrun_rule, sclass
    version 14
    gettoken name rest : 0
    gettoken second : rest, parse(" ,")
    sreturn clear
    local action
    local safe
    local found 0
    capture quietly findfile fdz_policy.txt
    if _rc {
        exit
    }
    tempname rules
    file open `rules' using `"`r(fn)'"', read text
    file read `rules' line
    while r(eof) == 0 {
        tokenize `"`line'"'
        if `"`1'"' == `"`name'"' & `found' == 0 {
            local action `2'
            local safe `3'
        }
        else if strpos(`"`1'"', `"`name'|"') == 1 & `"`second'"' != "" {
            local rule `"`1'"'
            local verdict `2'
            local other `3'
            tokenize `"`rule'"', parse("|")
            if length(`"`second'"') >= `5' & strpos("`3'", lower(`"`second'"')) == 1 {
                if `found' == 0 | "`verdict'" == "refused" {
                    local action `verdict'
                    local safe `other'
                }
                local found 1
            }
        }
        file read `rules' line
    }
    file close `rules'
    sreturn local action `action'
    sreturn local safe `safe'
end

program fdzrun_refuse
    version 14
    display as error "FDZ: command not permitted in remote execution"
end
