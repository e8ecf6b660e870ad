# What meson's log of a run says, for tests/run: lines "passed N", "skipped N",
# "failed 1 NAME", "program RESULT NAME SECONDS". A cmocka program counts its
# cases, another program counts as one.
def cases(mark): [(.stdout // "", .stderr // "") | scan(mark)] | length;
.[]
| . as $t
| cases("\\[       OK \\]") as $ok
# A skipped case is named where it is met, and again at the end.
| ([(.stdout // "", .stderr // "") | scan("\\[  SKIPPED \\] [^0-9].*")]
   | unique | length) as $skip
| (if .result == "OK" then "passed \(if $ok > 0 then $ok else 1 end)"
   elif .result == "SKIP" then "skipped 1"
   else "failed 1 \(.name) (\(.result))" end),
  (if $skip > 0 then "skipped \($skip)" else empty end),
  "program \(.result) \(.name) \(.duration | floor)"
