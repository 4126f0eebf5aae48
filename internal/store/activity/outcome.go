package activity

import (
	"bytes"
	"fmt"
	"strings"

	"tape/internal/text/jsonl"
)

// TestRun is what a run of tests printed at its end. Runners count tests; go test without -v counts packages.
type TestRun struct {
	Passed, Failed int
	Packages       bool `json:",omitempty"` // Passed and Failed count packages
}

// String says it in a few words, "" if nothing was counted.
func (r TestRun) String() string {
	all := r.Passed + r.Failed
	what := func(n int) string {
		switch {
		case r.Packages && n == 1:
			return "1 package"
		case r.Packages:
			return fmt.Sprint(n, " packages")
		case n == 1:
			return "1 test"
		}
		return fmt.Sprint(n, " tests")
	}
	switch {
	case all == 0:
		return ""
	case r.Passed == 0 && r.Packages:
		return "tests of " + what(all) + " fail"
	case r.Passed == 0 && all == 1:
		return "1 test fails"
	case r.Passed == 0:
		return what(all) + " fail"
	case r.Packages && r.Failed > 0:
		return fmt.Sprintf("tests of %d of %s fail", r.Failed, what(all))
	case r.Packages:
		return "tests of " + what(all) + " pass"
	case r.Failed > 0:
		verb := "fail"
		if r.Failed == 1 {
			verb = "fails"
		}
		return fmt.Sprintf("%d of %s %s", r.Failed, what(all), verb)
	case all == 1:
		return "1 test passes"
	}
	return what(all) + " pass"
}

// Turn is what came out of the last turn of a session, as far as calls and events say it.
type Turn struct {
	Tests   *TestRun `json:",omitempty"` // the last run of tests
	Commits int      `json:",omitempty"`
	Commit  string   `json:",omitempty"` // the id of the last one
	Failed  string   `json:",omitempty"` // the last call, if it failed: its command or its tool
}

// Outcome says in a line what came out of the last turn: tests, commits, a command that failed at the end. It is "" if the
// session does not say.
func (s *Session) Outcome() string {
	var parts []string
	if t := s.Turn.Tests; t != nil && t.String() != "" {
		parts = append(parts, t.String())
	}
	const shortID = 12
	id := s.Turn.Commit[:min(len(s.Turn.Commit), shortID)]
	switch s.Turn.Commits {
	case 0:
	case 1:
		parts = append(parts, "commit "+id)
	default:
		parts = append(parts, fmt.Sprintf("%d commits, the last %s", s.Turn.Commits, id))
	}
	if s.Turn.Failed != "" {
		parts = append(parts, "failed at the end: "+s.Turn.Failed)
	}
	return strings.Join(parts, ", ")
}

// Ends of outputs of test runners. They are searched for before anything is decoded.
var testMarks = [][]byte{[]byte(" passed"), []byte(" failed"), []byte(" passing"), []byte(" failing"), []byte("ok  \\t"), []byte("FAIL\\t"), []byte(" examples, "), []byte(" example, "),
	[]byte("Ran "), []byte("Tests run: "), []byte(" pass "), []byte(" pass\\n"), []byte("OK (")}

const (
	testTail    = 2 << 10   // bytes at the end of a result that have to have a mark
	longestTest = 256 << 10 // bytes of a result that is read
)

// readTests finds the counts of a test runner in a result, which is JSON; nil if there are none.
func readTests(raw []byte) *TestRun {
	if len(raw) > longestTest {
		raw = raw[len(raw)-longestTest:]
	}
	tail := raw[max(0, len(raw)-testTail):]
	found := false
	for _, mark := range testMarks {
		found = found || bytes.Contains(tail, mark)
	}
	if !found {
		return nil
	}
	text, ok := jsonl.String(raw)
	if !ok {
		for part := range jsonl.Elements(raw) {
			text += jsonl.GetString(part, "text") + "\n"
		}
		for _, member := range []string{"output", "stdout", "content"} {
			text += jsonl.GetString(raw, member) + "\n"
		}
	}
	if strings.TrimSpace(text) == "" { // the beginning was cut off
		text = strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(strings.TrimRight(string(raw), `"]}`))
	}
	return testsIn(text)
}

// testsIn reads the lines in which test runners sum up. Several runs of one command add up, as those of cargo do.
func testsIn(text string) *TestRun {
	var packages, tests TestRun
	ran, known := 0, false // unittest says how many ran, and then how many failed
	for line := range strings.Lines(text) {
		line = plainLine(line)
		if name, rest, ok := strings.Cut(line, "\t"); ok && (name == "ok  " && !strings.Contains(rest, "[no test files]") || name == "FAIL" && strings.Contains(rest, "\t")) {
			if packages.Packages = true; name == "FAIL" {
				packages.Failed++
			} else {
				packages.Passed++
			}
			continue
		}
		passed, failed, sum := sumLine(line)
		switch {
		case strings.HasPrefix(line, "Ran ") && strings.Contains(line, " test"):
			ran = numberAfter(line, "Ran ")
		case ran > 0 && (line == "OK" || strings.HasPrefix(line, "OK (") || strings.HasPrefix(line, "FAILED (")):
			failed = max(0, numberAfter(line, "failures=")) + max(0, numberAfter(line, "errors="))
			tests.Passed, tests.Failed, known, ran = tests.Passed+ran-failed, tests.Failed+failed, true, 0
		case sum:
			tests.Passed, tests.Failed, known = tests.Passed+passed, tests.Failed+failed, true
		}
	}
	switch {
	case known && tests.Passed+tests.Failed > 0:
		return &tests
	case packages.Packages:
		return &packages
	}
	return nil
}

// sumLine reads a line in which a runner sums up.
func sumLine(line string) (passed, failed int, ok bool) {
	has := func(parts ...string) bool {
		for _, p := range parts {
			if !strings.Contains(line, p) {
				return false
			}
		}
		return true
	}
	before := func(word string) int { return max(0, numberBefore(line, word)) }
	after := func(word string) int { return max(0, numberAfter(line, word)) }
	lower := strings.TrimLeft(line, "=- \tℹ#")
	switch {
	case strings.HasPrefix(line, "test result: "), // cargo
		strings.HasPrefix(lower, "Tests:") && has(" total"),                                                               // jest
		strings.HasPrefix(lower, "Tests ") && (has(" passed") || has(" failed")),                                          // vitest
		strings.HasPrefix(line, "=") && strings.HasSuffix(line, "=") && has(" in ") && (has(" passed") || has(" failed")), // pytest
		has("ok | ", " passed | ", " failed"), has("FAILED | ", " passed | ", " failed"):                                  // deno
		return before(" passed"), before(" failed"), true
	case isQuietPytest(line):
		return before(" passed"), before(" failed"), true
	case strings.HasSuffix(line, " passing") || has(" passing ("): // mocha
		return before(" passing"), 0, numberBefore(line, " passing") >= 0
	case strings.HasSuffix(line, " failing"):
		return 0, before(" failing"), numberBefore(line, " failing") >= 0
	case has(" example", " failure") && (has(" examples, ") || has(" example, ")): // rspec
		all, bad := max(before(" examples,"), before(" example,")), max(before(" failures"), before(" failure"))
		return all - bad, bad, true
	case strings.HasPrefix(line, "Tests run: ") && has("Failures: ", "Errors: ") && !has("Time elapsed"): // Maven
		bad := after("Failures: ") + after("Errors: ")
		return after("Tests run: ") - bad - after("Skipped: "), bad, true
	case strings.HasPrefix(line, "OK (") && has(" tests, ", " assertion"), strings.HasPrefix(line, "OK (1 test, "): // PHPUnit
		return max(numberAfter(line, "OK ("), 0), 0, true
	case strings.HasPrefix(lower, "pass ") && lower != line: // node --test
		return max(0, numberAfter(lower, "pass ")), 0, numberAfter(lower, "pass ") >= 0
	case strings.HasPrefix(lower, "fail ") && lower != line:
		return 0, max(0, numberAfter(lower, "fail ")), numberAfter(lower, "fail ") >= 0
	case strings.HasPrefix(line, " ") && strings.HasSuffix(line, " pass"): // bun
		return before(" pass"), 0, numberBefore(line, " pass") >= 0
	case strings.HasPrefix(line, " ") && strings.HasSuffix(line, " fail"):
		return 0, before(" fail"), numberBefore(line, " fail") >= 0
	}
	return 0, 0, false
}

// isQuietPytest reports whether a line is what pytest -q ends with: 3 passed, 1 failed in 0.12s.
func isQuietPytest(line string) bool {
	at := strings.LastIndex(line, " in ")
	if at < 0 || !strings.HasSuffix(line, "s") || line == "" || line[0] < '0' || line[0] > '9' {
		return false
	}
	return strings.HasSuffix(line[:at], " passed") || strings.Contains(line[:at], " passed,") || strings.HasSuffix(line[:at], " failed") || strings.Contains(line[:at], " failed,") ||
		strings.Contains(line[:at], " warning")
}

// numberBefore returns the number right before a word, -1 if there is none.
func numberBefore(line, word string) int {
	at := strings.Index(line, word)
	if at < 0 {
		return -1
	}
	from := at
	for from > 0 && line[from-1] >= '0' && line[from-1] <= '9' {
		from--
	}
	return smallNumber(line[from:at])
}

// numberAfter returns the number right after a word, -1 if there is none.
func numberAfter(line, word string) int {
	_, rest, ok := strings.Cut(line, word)
	if !ok {
		return -1
	}
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	return smallNumber(rest[:end])
}

func smallNumber(digits string) int {
	const most = 7 // digits
	if digits == "" || len(digits) > most {
		return -1
	}
	return int(number([]byte(digits)))
}

// plainLine returns a line without its end and the colours of a terminal.
func plainLine(line string) string {
	line = strings.TrimRight(line, "\r\n ")
	for {
		at := strings.Index(line, "\x1b[")
		if at < 0 {
			return line
		}
		end := strings.IndexByte(line[at:], 'm')
		if end < 0 {
			return line
		}
		line = line[:at] + line[at+end+1:]
	}
}
