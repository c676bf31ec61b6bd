// Package contextplan decides which of many candidates a model sees, in which order, and says why for each of them, those
// left out included.
//
// # What it does
//
// Build turns an Input (a token budget and candidates) into a Plan: what must be in first (required, pinned, and all
// that these depend on), then by rank what fits and isn't redundant, and last the order of sending. Check verifies a
// plan on its own account. Diff and Text show plans to people; ParseInput, ParsePlan and Run are the wire and the command
// line. Estimator says about how many tokens a text has, and learns from what models report.
//
// # What it doesn't do
//
// It finds no candidates, reads no files, calls no model, cuts no text: it is a pure function of its arguments. When it
// decides that the latest request is cut, the Plan says to how many tokens, and the caller cuts.
//
// # Decisions where several were possible
//
//   - Pinned is as strong as required: both are in, redundant or not, and both are listed when they don't fit. What a
//     person pinned never goes silently.
//   - Dependencies beat redundancy: what an included candidate depends on comes along even if it is expired or another
//     candidate has its content. What a unit itself brings along is no reason to leave that unit out.
//   - A unit is redundant only if all members are so in the same way. The first that holds of duplicate, shadowed,
//     superseded is the reason; expired comes before them.
//   - Supersedes is transitive: the newest included version replaces all older ones, also where one in between is out.
//     Of versions that supersede each other in a circle, the first judged stays. Unknown ids there are fine.
//   - A newer version is judged in the place of what it supersedes. Where it can't fit, the older may be in.
//   - A large span around a smaller, better-ranked one is judged at its own rank; if both would go in, it is judged again
//     in the place of the smaller one, so that exactly one of the two is in.
//   - Rank: priority, then sent before unsent, then score, then higher seq, then fewer tokens, then id. A group ranks as
//     the best of its members.
//   - Out for dependency: what it depends on can't fit, or it alone would fit but not with that. Out for budget: all
//     else that doesn't fit.
//   - truncate-latest cuts the request with the highest seq (the last by id), if that is among what must be in, and leaves
//     at least one token of it; otherwise it is an error as with fail.
//   - Plans are append-only while nothing that was sent is expired, superseded, shadowed by something new, or outranked in
//     a full budget. A caller that wants to keep a model's prompt cache therefore declares supersession, and drops
//     overlapping spans, when it compacts. Diff.Kept says how much of the last plan the next one begins with.
//   - Everything is close to linear in candidates and dependencies. Only inputs in which very many units share, each a
//     different mix, dependencies that fit alone and not together, take longer.
//
// # Invariants
//
//   - Every candidate is in exactly one list with exactly one reason, groups and dependencies hold, the budget holds, no
//     room is wasted, nothing chosen for its rank is redundant: TestPlansKeepEveryContract, TestLargePlansKeepEveryContract.
//   - Order of arrival is without effect: TestOrderOfArrivalIsWithoutEffect.
//   - Equal content, equal id, on every machine: TestPlanIDIsTheSameOnEveryMachine.
//   - Units are what reaches each other: TestUnitsAreWhatReachesEachOther.
//   - The choice is the plain greedy one: TestGreedyChoiceWithoutShortcuts.
//   - Work is near linear, whatever the shape: TestWorkGrowsWithTheCandidates.
//   - Check notices each kind of damage: TestCheckFindsWhatIsWrong.
//   - Bad input names its candidate: TestBadInputNamesTheCandidate.
//
// # Reading order
//
// plan.go (the types), build.go (the choice), units.go, order.go, redundancy.go, reasons.go, check.go; then text.go, diff.go,
// codec.go and tokens.go, which stand alone. The stories in testdata/stories show each rule with an example.
package contextplan
