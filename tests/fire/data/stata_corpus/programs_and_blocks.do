program drop _all
capture program drop mywage
program define mywage, rclass byable(recall)
    version 13
    syntax varlist(min=1) [if] [in] [, Detail]
    marksample touse
    tempvar x
    foreach v of local varlist {
        quietly summarize `v' if `touse', `detail'
        return scalar m_`v' = r(mean)
    }
end

mata:
mata set matastrict on
void f(real matrix X)
{
    // list is a word here
    /* and
end
       here too */
    printf("%g\n", mean(X))
}
end

mata: f(st_data(., "wage"))
mata st_numscalar("a", 3)

python:
import sfi
for i in range(3):
    print("list", i)
end

python script helper.py

input id str8 name wage
1 "list" 2500
2 "summarize" 3100
3 "end it" 1200
end

list id
matrix A = (1, 2 \ 3, 4)
mat list A
frame create other
frame other: summarize x
frame other {
    list x in 1
}
mi xeq 1/3: su wage; list id in 1/2; ta educ
xi: stepwise, pr(.2): logit y x1 x2 i.z
version 12: xi: reg y i.z
by id: mywage wage, detail
simulate m=r(m_wage), reps(10) nodots: mywage wage
!dir
shell del x.dta
