package activity

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestReadTests: the counts are those of the lines in which the runners sum up, as they print them.
func TestReadTests(t *testing.T) {
	for text, want := range map[string]string{
		"ok  \tshop\t0.012s\nok  \tshop/web\t(cached)\n?   \tshop/x\t[no test files]":                                              "tests of 2 packages pass",
		"--- FAIL: TestCart (0.00s)\nFAIL\nFAIL\tshop\t0.012s\nok  \tshop/web\t0.1s\nFAIL":                                         "tests of 1 of 2 packages fail",
		"============================= test session starts =====\n======= 41 passed, 1 skipped in 0.12s =======":                   "41 tests pass",
		"FAILED test_x.py::test_a\n======= 2 failed, 40 passed in 0.12s =======":                                                   "2 of 42 tests fail",
		"..F\n1 failed, 2 passed in 0.03s":                                                                                         "1 of 3 tests fails",
		"3 passed in 0.03s":                                                                                                        "3 tests pass",
		"Test Suites: 2 passed, 2 total\nTests:       1 failed, 41 passed, 42 total\nTime: 2 s":                                    "1 of 42 tests fails",
		" Test Files  2 passed (2)\n      Tests  42 passed (42)\n   Duration  1s":                                                  "42 tests pass",
		"\x1b[2m      Tests \x1b[22m \x1b[1m\x1b[31m1 failed\x1b[39m\x1b[22m\x1b[2m | \x1b[22m\x1b[32m4 passed\x1b[39m (5)":        "1 of 5 tests fails",
		"test result: ok. 40 passed; 0 failed; 0 ignored; 0 measured\n\ntest result: ok. 2 passed; 0 failed; 0 ignored":            "42 tests pass",
		"  12 passing (30ms)\n  1 failing\n":                                                                                       "1 of 13 tests fails",
		"Finished in 0.1 seconds\n42 examples, 0 failures":                                                                         "42 tests pass",
		"Ran 42 tests in 0.123s\n\nFAILED (failures=1, errors=1)":                                                                  "2 of 42 tests fail",
		"Ran 1 test in 0.001s\n\nOK":                                                                                               "1 test passes",
		"Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s\nTests run: 42, Failures: 1, Errors: 0, Skipped: 1": "1 of 41 tests fails",
		"OK (42 tests, 84 assertions)":                                                                                             "42 tests pass",
		"# tests 42\n# pass 41\n# fail 1\n# skipped 0":                                                                             "1 of 42 tests fails",
		"ℹ tests 2\nℹ pass 2\nℹ fail 0":                                                                                            "2 tests pass",
		" 42 pass\n 0 fail\n 80 expect() calls":                                                                                    "42 tests pass",
		"ok | 42 passed | 0 failed (1s)":                                                                                           "42 tests pass",
		"the login failed, and 3 passed by":                                                                                        "",
		"I passed in 3 exams":                                                                                                      "",
		"ok":                                                                                                                       "",
		"Ran all the checks; nothing failed":                                                                                       "",
		"2 files changed, 3 passed parameters":                                                                                     "",
		"======= no tests ran in 0.01s =======":                                                                                    "",
		"FAIL: the build failed":                                                                                                   "",
		"3 failed attempts to log in as root in syslog":                                                                            "",
	} {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if run := readTests(raw); run != nil {
			got = run.String()
		}
		if got != want {
			t.Errorf("%q\nis read as %q, want %q", text, got, want)
		}
	}
	long, err := json.Marshal(strings.Repeat("a line of the build\n", 50_000) + "42 passed in 1.2s")
	if err != nil {
		t.Fatal(err)
	}
	if run := readTests(long); run == nil || run.Passed != 42 {
		t.Errorf("at the end of a long result: %v", run)
	}
	if run := readTests([]byte(`[{"type":"text","text":"42 passed in 1.2s"}]`)); run == nil || run.Passed != 42 {
		t.Errorf("in a list of parts: %v", run)
	}
}

// TestOutcome: what came out is of the last turn, and only of commands: a file that has such lines is no test run.
func TestOutcome(t *testing.T) {
	calls := func(tool, args, output string, wrong bool) []string {
		raw, _ := json.Marshal(output)
		meta := `{"call_ids":["1"]}`
		if wrong {
			meta = `{"call_ids":["1"],"is_error":["1"]}`
		}
		return []string{fmt.Sprintf(`1 | tool_call | {"calls":[{"id":"1","function":{"name":%q,"arguments":%q}}]}`, tool, args), `2 | tool_result | {"results":[` + string(raw) + `]} | ` + meta}
	}
	ask := `0 | message | {"role":"user","content":"do it"}`
	commit := `3 | event | {"name":"project.commit","data":{"id":"3f2a1b9c5d7e8f901234","subject":"add it"}}`
	test := func(output string, wrong bool) []string {
		return calls("Bash", `{"command":"go  test ./..."}`, output, wrong)
	}
	join := func(lists ...[]string) (out []string) {
		for _, l := range lists {
			out = append(out, l...)
		}
		return out
	}
	for want, lines := range map[string][]string{
		"":                                   {ask},
		"42 tests pass":                      join([]string{ask}, test("42 passed in 1s", false)),
		"42 tests pass, commit 3f2a1b9c5d7e": join([]string{ask}, test("1 failed in 1s", true), test("42 passed in 1s", false), []string{commit}),
		"2 commits, the last 3f2a1b9c5d7e":   {ask, commit, commit},
		"1 test fails, failed at the end: go test ./...": join([]string{ask}, test("1 failed in 1s", true)),
		"failed at the end: Edit":                        join([]string{ask}, test("42 passed in 1s", false), []string{ask}, calls("Edit", `{"file_path":"x"}`, "no such file", true)),
	} {
		var s Session
		add(&s, entries(lines...))
		if got := s.Outcome(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	var s Session
	add(&s, entries(join([]string{ask}, calls("Read", `{"file_path":"log.txt"}`, "42 passed in 1s", false))...))
	if got := s.Outcome(); got != "" {
		t.Errorf("a file that was read: %q", got)
	}
}
