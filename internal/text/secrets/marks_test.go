package secrets

import (
	"bytes"
	"fmt"
	"testing"

	"tape/internal/testkit"
	"tape/internal/text/jsonl"
)

// The findings that are listed in an entry's meta are not reported as secrets.
func TestListedFindingsAreNotReported(t *testing.T) {
	s, rng := New(), testkit.Random(t)
	for _, r := range Rules() {
		for range testkit.Size(20, 1000) {
			line := fmt.Sprintf(`{"id":1,"kind":"event","payload":{"name":"x"},"meta":{"redacted":["%s"],"secrets":["%[1]s"]},"date":"d"}`, fmt.Sprintf("%s:%016x", r.ID, rng.Uint64()))
			if found, err := s.Line([]byte(line)); err != nil || len(found) > 0 {
				t.Fatalf("%s: found %+v, %v, want nothing", line, found, err)
			}
		}
	}
}

// A secret in coloured output is found as in plain text. Only the secret is masked: the escapes for colours stay.
func TestColouredSecrets(t *testing.T) {
	s, rng := New(), testkit.Random(t)
	token := "ghp_" + made(rng, alnums, 36)
	for _, text := range []string{"\x1b[01;31m\x1b[K" + token + "\x1b[m\x1b[K", "a\x1b[1m" + token + "\x1b[0m"} {
		if found := s.Text([]byte(text)); len(found) != 1 {
			t.Errorf("%q: found %+v, want one secret", text, found)
		}
		value := jsonl.AppendString(nil, text)
		if out, _ := s.Mask(value, nil); bytes.Contains(out, []byte(token)) || bytes.Count(out, []byte("u001b")) != bytes.Count(value, []byte("u001b")) {
			t.Errorf("%s became %s, want only the token masked", value, out)
		}
	}
}
