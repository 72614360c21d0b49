#delimit ;
* A comment that goes
  over two lines;
use "data/firms.dta", clear;
regress y x1 x2
    x3 x4   // a note; with a semicolon
    if year > 2000
    , vce(robust);
gen z = a
* b;
tab sector, m; list id in 1;
label var z "first; second";
foreach v of varlist x1 x2 {;
  su `v';
  if r(N) > 10 {;
     di r(mean);
  };
};
graph twoway (scatter y x1) /* the cloud */
   (lfit y x1), title("Growth
   of firms");
#d cr
su y
# delimit ;
su z; #delimit cr
su w
