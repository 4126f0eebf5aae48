package api_test

import (
	"strings"
	"testing"

	"tape/internal/serve/host/api"
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
		`{"text":[` + strings.Repeat("1,", api.MaxElements) + `1]}`: "more than 1000 elements",
	} {
		var q api.SteerRequest
		err := api.Decode([]byte(body), &q)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.40q gives the error %v, want %q", body, err, want)
		}
	}
	long := `[` + strings.Repeat("{},", api.MaxElements) + `{}]`
	for body, ok := range map[string]bool{
		`{"input":{"contents":` + long + `}}`:    false,
		`{"Input":{"attachments":` + long + `}}`: false,
		`{"manifest":{"scopes":` + long + `}}`:   false,
		`{"config":{"anything":` + long + `}}`:   true,
	} {
		if err := api.Decode([]byte(body), &api.RunRequest{}); (err == nil) != ok || !ok && !strings.Contains(err.Error(), "more than 1000 elements") {
			t.Errorf("%.40q gives the error %v; allowed: %v", body, err, ok)
		}
	}
}
