package api

import (
	"strings"
	"testing"
)

// A body is one JSON value of known members, and short lists.
func TestBodiesAreChecked(t *testing.T) {
	for body, want := range map[string]string{
		"":                    "",
		`{"text":"hello"}`:    "",
		`{"text":"\xff"}`:     "cannot be used",
		`{"words":"hello"}`:   "unknown field",
		`{"text":"a"} {}`:     "more than one JSON value",
		"{\"text\":\"\xff\"}": "not UTF-8",
		`{"text":[` + strings.Repeat("1,", MaxElements) + `1]}`: "more than 1000 elements",
	} {
		var q SteerRequest
		err := Decode([]byte(body), &q)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.40q gives the error %v, want %q", body, err, want)
		}
	}
}
