package join_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/store/purge"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/internal/text/secrets"
	"tape/repo"
	"testing"
)

// simFinder takes each text of a simulation for a secret whose number is a multiple of every.
type simFinder struct{ every int }

var simText = regexp.MustCompile(`entry [0-9]+`)

func (f simFinder) Mask(value []byte, skip func(secrets.Finding) bool) ([]byte, []secrets.Finding) {
	var found []secrets.Finding
	out := simText.ReplaceAllFunc(value, func(text []byte) []byte {
		n, err := strconv.Atoi(string(text[len("entry "):]))
		finding := secrets.Finding{Rule: "sim", Fingerprint: fmt.Sprintf("%x", sha256.Sum256(append([]byte("sim\x00"), text...)))[:16]}
		if err != nil || n%f.every != 0 || skip != nil && skip(finding) {
			return text
		}
		found = append(found, finding)
		return []byte("[redacted:sim:" + finding.Fingerprint + "]")
	})
	return out, found
}

// Secrets returns none, because each text of a simulation is a prefix of others, which must stay.
func (f simFinder) Secrets([]byte, func(secrets.Finding) bool) []secrets.Secret { return nil }

// commitName matches the commit in the entry of a summary.
var commitName = regexp.MustCompile(`"commit":"[0-9a-f]{40}"`)

// TestPurgeRandom purges random histories of tapes, forks, merges of all kinds, resets and archives: what is not
// masked keeps its bytes, nothing is left of the secrets, everything verifies, and the forks still merge.
func TestPurgeRandom(t *testing.T) {
	rng := testkit.Random(t)
	for range testkit.Size(1, 60) {
		x := newForkSim(t, rng)
		for range 20 + rng.IntN(testkit.Size(40, 300)) {
			x.touched = nil
			what, err := x.step(t.Context())
			x.steps = append(x.steps, what)
			if err == nil {
				err = x.check(t.Context()) // which tells the model what has been committed
			}
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		s := storetest.Reopen(t, x.s.Dir())
		storetest.Healthy(t, s.Dir())
		before := storetest.AllLines(t, s)
		find := simFinder{1 + rng.IntN(20)}
		for _, root := range simRoots {
			purgeAndCompare(t, s, root, before, find)
		}
		if t.Failed() {
			t.Fatalf("in %s, after: %s", x.keep(), strings.Join(x.steps, "; "))
		}
		for i := 1; i <= x.n; i++ {
			if i%find.every == 0 {
				storetest.WantNowhere(t, s.Dir(), fmt.Sprintf(`"entry %d"`, i))
				break // checking one is enough: they were purged together
			}
		}
		mergeAll(t, s)
		if t.Failed() {
			t.Fatalf("in %s, after: %s", x.keep(), strings.Join(x.steps, "; "))
		}
	}
}

func purgeAndCompare(t *testing.T, s *repo.Store, root string, before map[string][]string, find simFinder) {
	t.Helper()
	tp := storetest.Tape(t, s, root)
	was := storetest.Picture(t, s)
	done, err := tp.Purge(t.Context(), repo.PurgeOptions{Rules: []string{purge.AllRules}, Find: find})
	if errors.Is(err, repo.ErrNotFound) {
		if now := storetest.Picture(t, s); now != was {
			t.Error("the purge found nothing, but changed the workspace")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Left) > 0 {
		t.Errorf("left: %v", done.Left)
	}
	for _, changed := range done.Tapes {
		if dir := storetest.Tape(t, s, changed.Tape).WorkTree(); dir != "" {
			storetest.WantClean(t, dir)
		}
	}
	after := storetest.AllLines(t, s)
	for name, want := range before {
		if name != root && !strings.HasPrefix(name, root+"/") && !strings.HasPrefix(name, layout.ArchivePrefix+layout.TapeSlug(root)+"/") {
			continue
		}
		got := after[name]
		changed := false
		for i, line := range want {
			masked, found := find.Mask([]byte(line), nil)
			changed = changed || len(found) > 0
			if i >= len(got) || commitName.ReplaceAllString(got[i], "") != commitName.ReplaceAllString(string(masked), "") {
				t.Errorf("%s: line %d is\n%.200s, want\n%.200s", name, i+1, append(got, make([]string, len(want))...)[i], masked)
				break
			}
		}
		record := 0
		if changed && !strings.HasPrefix(name, "refs/") {
			record = 1
		}
		if len(got) != len(want)+record && changed {
			t.Errorf("%s has %d lines, had %d", name, len(got), len(want))
		}
	}
	storetest.Healthy(t, s.Dir())
}

// mergeAll merges all forks, the deepest first.
func mergeAll(t *testing.T, s *repo.Store) {
	t.Helper()
	for {
		forks, err := s.Forks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(forks) == 0 {
			break
		}
		f := slices.MaxFunc(forks, func(a, b *repo.Tape) int {
			return strings.Count(storetest.InnerTape(a).Name(), "/") - strings.Count(storetest.InnerTape(b).Name(), "/")
		})
		_, err = join.Merge(t.Context(), storetest.InnerTape(f), join.Options{})
		var rewritten *repo.RewrittenError
		if errors.As(err, &rewritten) { // its parent was reset
			err = f.Discard(t.Context())
		}
		if err != nil {
			t.Fatalf("merge %s: %v", storetest.InnerTape(f).Name(), err)
		}
	}
	storetest.Healthy(t, s.Dir())
}
