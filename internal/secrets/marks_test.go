package secrets

import (
	"fmt"
	"testing"

	"tape/internal/testkit"
)

// What an entry's meta lists of its secrets is not taken for one itself.
func TestListedFindingsAreNoSecrets(t *testing.T) {
	s, rng := New(), testkit.Random(t)
	for _, r := range Rules() {
		for range testkit.Size(20, 50, 1000) {
			line := fmt.Sprintf(`{"id":1,"kind":"event","payload":{"name":"x"},"meta":{"redacted":["%s:%016x"],"secrets":["%[1]s:%[2]016x"]},"date":"d"}`, r.ID, rng.Uint64())
			if found, err := s.Line([]byte(line)); err != nil || len(found) > 0 {
				t.Fatalf("%s: %+v, %v", line, found, err)
			}
		}
	}
}
