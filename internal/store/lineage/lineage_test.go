package lineage_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"testing"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

// commits makes a random history that no ref names, oldest first: some commits have no parent, some merge.
func commits(t *testing.T, rng *rand.Rand, dir string, n int) (out []gitstore.Hash) {
	t.Helper()
	tree := storetest.Git(t, dir, "rev-parse", "HEAD^{tree}")
	for i := range n {
		args := []string{"-c", "user.name=T", "-c", "user.email=t@example.org", "commit-tree", tree, "-m", fmt.Sprint("commit ", i)}
		var parents []gitstore.Hash
		for range min(i, [...]int{0, 1, 1, 1, 1, 1, 2, 2, 3}[rng.IntN(9)]) {
			if p := out[max(0, i-1-rng.IntN(6))]; !slices.Contains(parents, p) {
				parents, args = append(parents, p), append(args, "-p", p.String())
			}
		}
		out = append(out, storetest.Hash(t, storetest.Git(t, dir, args...)))
	}
	return out
}

// The walks agree with git.
func TestWalksAgreeWithGit(t *testing.T) {
	rng := testkit.Random(t)
	rs := storetest.New(t, nil)
	s, dir := storetest.Inner(rs), rs.Dir()
	list := commits(t, rng, dir, testkit.Size(25, 60))
	revs := func(args ...string) []string {
		return strings.Fields(storetest.Git(t, dir, append([]string{"rev-list"}, args...)...))
	}
	reach, first := map[gitstore.Hash][]string{}, map[gitstore.Hash][]string{}
	for _, h := range list {
		reach[h], first[h] = revs(h.String()), revs("--first-parent", h.String())
		var got []string
		for c, err := range lineage.Ancestors(s, h, h) {
			storetest.Must(t, err)
			got = append(got, c.Hash.String())
		}
		slices.Sort(got)
		if want := slices.Sorted(slices.Values(reach[h])); !slices.Equal(got, want) {
			t.Errorf("%s reaches %v, git says %v", h, got, want)
		}
		chain, err := lineage.FirstParents(t.Context(), s, h)
		if err != nil || fmt.Sprint(chain) != fmt.Sprint(first[h]) {
			t.Errorf("the first parents of %s are %v, git says %v, %v", h, chain, first[h], err)
		}
		if oldest, err := lineage.FirstCommit(s, h); err != nil || oldest.String() != first[h][len(first[h])-1] {
			t.Errorf("the first commit of %s is %s, git says %s, %v", h, oldest, first[h][len(first[h])-1], err)
		}
	}
	seen := map[lineage.Relation]int{}
	for _, a := range list {
		for _, b := range list {
			has, back := slices.Contains(reach[a], b.String()), slices.Contains(reach[b], a.String())
			if got, err := lineage.Contains(s, a, b); err != nil || got != has {
				t.Errorf("%s contains %s: %v, want %v, %v", a, b, got, has, err)
			}
			if got, err := lineage.Descends(s, a, b.String()); err != nil || got != slices.Contains(first[a], b.String()) {
				t.Errorf("%s descends from %s: %v, want the opposite, %v", a, b, got, err)
			}
			i := slices.IndexFunc(first[a], func(h string) bool { return slices.Contains(first[b], h) })
			common, err := lineage.CommonCommit(s, a, b)
			if i < 0 && !errors.Is(err, layout.ErrConflict) || i >= 0 && (err != nil || common.String() != first[a][i]) {
				t.Errorf("%s and %s have %s in common, %v", a, b, common, err)
			}
			rel, err := lineage.Relate(s, a, b)
			storetest.Must(t, err)
			seen[rel]++
			want := lineage.Diverged
			switch { // only first parents make a tape ahead
			case a == b:
				want = lineage.Equal
			case i < 0:
				want = lineage.Unrelated
			case slices.Contains(first[a], b.String()):
				want = lineage.Ahead
			case back:
				want = lineage.Behind
			}
			if rel != want {
				t.Errorf("the relation of %s to %s is %v, want %v", a, b, rel, want)
			}
		}
	}
	if len(seen) < 4 {
		t.Errorf("fewer than four relations occurred: %v", seen)
	}
}
