//go:build extra

package bench

import "regexp"

// questions are about the recorded sessions with which the project is tested. Each has the queries that a model
// would use, and a pattern for the entry that answers it.
var questions = []question{
	{"What did the review of the one-to-one checkpoints branch call critical?", []string{"review one-to-one checkpoints branch critical issues", "critical issues review"}, regexp.MustCompile(`content_overlap\.go`)},
	{"Where did the version v0.3.0 in the comments come from?", []string{"v0.3.0 version comment", "v0.3.0"}, regexp.MustCompile(`made that up`)},
	{"Which approach to validating the e2e tests did we choose?", []string{"e2e tests validation approach decision", "validation of checkpoints branch approach"}, regexp.MustCompile(`2 is the right approach`)},
	{"Why was no common helper extracted from the two duplicated functions?", []string{"extract common helper duplication functions", "duplication common helper"}, regexp.MustCompile(`(?i)lose context-specific`)},
	{"What prefix does the content hash have in its file?", []string{"content hash prefix", "content_hash sha256"}, regexp.MustCompile("has a `sha256:` prefix")},
	{"Which transcript does each checkpoint of one turn get with deferred finalization?", []string{"deferred finalization checkpoints transcript same turn", "deferred finalization transcript"}, regexp.MustCompile(`get the full transcript`)},
	{"Which folders get a README by ENT-95?", []string{"ENT-95 README folders", "linear ENT-95 README locations"}, regexp.MustCompile(`\.git/entire-sessions`)},
	{"Why do the READMEs have a gosec exception?", []string{"gosec nolint README permissions", "gosec README"}, regexp.MustCompile(`world-readable`)},
	{"Where were the contents of the READMEs put, and why there?", []string{"README content constants paths.go", "README constants"}, regexp.MustCompile(`already centralizes`)},
	{"Which pull request stopped enable from asking when it is already enabled?", []string{"enable no longer prompts already enabled PR", "entire enable prompts PR"}, regexp.MustCompile(`#231`)},
	{"What does calculatePromptAttributionAtStart do on errors?", []string{"calculatePromptAttributionAtStart error conditions", "calculatePromptAttributionAtStart"}, regexp.MustCompile(`silently returns an empty result`)},
	{"What was slow in getAllChangedFilesBetweenTrees?", []string{"getAllChangedFilesBetweenTrees performance issue", "getAllChangedFilesBetweenTrees slow"}, regexp.MustCompile(`both trees twice`)},
	{"Which test checked the old behaviour of prompt attribution with staged changes?", []string{"test prompt attribution staging area old behavior", "PromptAttribution staging test"}, regexp.MustCompile(`TestPromptAttribution_RespectsStagingArea`)},
	{"Why are user edits before the first prompt not captured?", []string{"user edits before first prompt never captured", "edits before first prompt attribution"}, regexp.MustCompile(`CheckpointCount > 0`)},
	{"Does getAllChangedFilesBetweenTrees have tests?", []string{"getAllChangedFilesBetweenTrees tests", "does getAllChangedFilesBetweenTrees have tests"}, regexp.MustCompile(`(?i)TestGetAllChangedFilesBetweenTrees|no (direct |dedicated )?(unit )?tests`)},
	{"What did the probe answer over MCP?", []string{"probe answered mcp", "probe"}, regexp.MustCompile(`The probe answered`)},
	{"How many files did the helper count?", []string{"helper count files how many", "count the files here"}, regexp.MustCompile(`two files`)},
	{"What did the tool that does not exist answer?", []string{"unknown tool does not exist", "unknown tool"}, regexp.MustCompile(`(?i)no such tool|not found|does not exist|unknown tool`)},
	{"How did the session go on after the window was full?", []string{"fill the window compaction go on", "fill the window"}, regexp.MustCompile(`(?i)compact|Going on`)},
	{"What greeting does the new function in main.rs print?", []string{"greeting function main.rs", "greeting main.rs"}, regexp.MustCompile(`(?i)greet`)},
}
