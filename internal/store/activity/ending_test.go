package activity

import (
	"fmt"
	"testing"
)

// A session keeps a line for each request and commit, and knows after each entry how it ends.
func TestEnding(t *testing.T) {
	list := entries(
		`1 | message | {"role":"user","content":"<system-reminder>x</system-reminder>rename\nthe flag"}`,
		`2 | tool_call | {"calls":[{"id":"1","function":{"name":"Bash","arguments":"{}"}}]}`,
		`3 | event | {"name":"project.commit","data":{"id":"1a2b3c4","subject":"rename the flag"}}`,
		`4 | tool_result | {"results":["ok"]} | {"call_ids":["1"]}`,
		`5 | message | {"role":"assistant","content":[{"type":"text","text":"\n## **Done.** It is renamed.\n\nMore"}]}`,
		`6 | message | {"role":"assistant","content":"of a subagent"} | {"context":false}`,
		`7 | message | {"role":"user","content":"[Request interrupted by user for tool use]"}`,
		`8 | error | {"kind":"provider","message":"overloaded"}`)
	var s Session
	said := ""
	for i, want := range []string{"asked ", "working ", "working ", "working ", "answered Done. It is renamed.", "answered Done. It is renamed.", "interrupted ", "failed overloaded"} {
		add(&s, list[i:i+1])
		for _, one := range s.Take().Steps {
			said += fmt.Sprintln(one.Entry, one.Commit, one.Text)
		}
		if got := fmt.Sprint(s.Ending, " ", s.Answer); got != want {
			t.Errorf("after entry %d the ending is %q, want %q", i+1, got, want)
		}
	}
	if want := "1 false rename the flag\n3 true 1a2b3c4 rename the flag\n"; said != want {
		t.Errorf("requests and commits are\n%s\nwant\n%s", said, want)
	}
}
