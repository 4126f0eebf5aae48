package activity

import (
	"fmt"
	"testing"
)

// TestMarks: a session is marked if its last call failed or it ended with an error, and if the same call failed three
// times, in whichever words the agent describes it.
func TestMarks(t *testing.T) {
	call := func(id int, tool, args string) string {
		return fmt.Sprintf(`1 | tool_call | {"calls":[{"id":"%d","function":{"name":%q,"arguments":%q}}]}`, id, tool, args)
	}
	result := func(id int, wrong bool) string {
		meta := fmt.Sprintf(`{"call_ids":["%d"]}`, id)
		if wrong {
			meta = fmt.Sprintf(`{"call_ids":["%[1]d"],"is_error":["%[1]d"]}`, id)
		}
		return `2 | tool_result | {"results":["x"]} | ` + meta
	}
	test := func(id int, words string) string {
		return call(id, "Bash", `{"command":"go test","description":"`+words+`"}`)
	}
	ask, answer := `0 | message | {"role":"user","content":"do it"}`, `3 | message | {"role":"assistant","content":"Done"}`
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"nothing":              {[]string{ask, answer}, "[]"},
		"the last call failed": {[]string{ask, test(1, "a"), result(1, true), answer}, "[ended in failures]"},
		"a later one did not":  {[]string{ask, test(1, "a"), result(1, true), test(2, "a"), result(2, false), answer}, "[]"},
		"another turn":         {[]string{ask, test(1, "a"), result(1, true), answer, ask, answer}, "[]"},
		"an error":             {[]string{ask, `1 | error | {"kind":"provider","message":"overloaded"}`}, "[ended in failures]"},
		"three times": {[]string{ask, test(1, "a"), result(1, true), test(2, "b"), result(2, true), call(3, "Read", `{"file_path":"x"}`), result(3, false),
			test(4, "c"), result(4, true), test(5, "d"), result(5, false), answer}, "[same call failed 3 times]"},
		"three others": {[]string{ask, call(1, "Read", `{"file_path":"x"}`), result(1, true), call(2, "Read", `{"file_path":"y"}`), result(2, true),
			call(3, "Read", `{"file_path":"z"}`), result(3, true), test(4, "a"), result(4, false)}, "[]"},
		"rejected": {[]string{ask, test(1, "a"), `2 | tool_result | {"results":["The user doesn't want to proceed"]} | {"call_ids":["1"],"is_error":["1"]}`, answer}, "[]"},
	} {
		var s Session
		add(&s, entries(c.lines...))
		if got := fmt.Sprint(s.Marks()); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
