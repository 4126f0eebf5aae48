package web

import (
	"testing"

	"tape/index"
)

// TestCameOut: the digest does not repeat a commit that it lists, and does not hide what else came out.
func TestCameOut(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[string]string{
		"":                "",
		"commit 12345678": "",
		"commit 12345678, failed at the end: go test": "commit 12345678, failed at the end: go test",
		"3 tests passed, commit 12345678":             "3 tests passed, commit 12345678",
	} {
		if got := digestSessionOf(&index.Digest{Outcome: outcome}, "").CameOut; got != want {
			t.Errorf("of %q it shows %q, want %q", outcome, got, want)
		}
	}
}
