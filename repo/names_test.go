package repo_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
	"unicode/utf8"
)

// randomName strings pieces together that have a meaning somewhere.
func randomName(rng *rand.Rand) string {
	pieces := []string{"a", "A", "b", "-", ".", "..", "/", ":", "_", "é", "e\u0301", "É", "长", "阶", "0", "1f", "lock", ".lock", "con", "nul", " ", "\n", "@", "{", "~", "^", "\\", "🙂", "K", "k"}
	var b strings.Builder
	for range 1 + rng.IntN(6) {
		b.WriteString(pieces[rng.IntN(len(pieces))])
	}
	name := b.String()
	if rng.IntN(20) == 0 {
		name = strings.Repeat(name, 1+rng.IntN(200))
	}
	if rng.IntN(4) == 0 {
		name = layout.TapeSlug(name)
	}
	return name
}

// fold is what file systems that ignore case and spelling make of a name, coarsely:
// more names are equal under it than on any of them.
func fold(s string) string {
	s = strings.NewReplacer("e\u0301", "e", "E\u0301", "e", "é", "e", "É", "e", "ß", "ss", "ẞ", "ss", "ﬁ", "fi", "ſ", "s", "K", "k", "Ω", "ω", "ς", "σ", "ı", "i", "i̇", "i").Replace(strings.ToLower(s))
	return strings.ToLower(strings.ToUpper(s))
}

// TestSoakSlugs: different names have different branches and folders, on every file
// system, and each is one that git takes and that stays where it belongs.
func TestSoakSlugs(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	names := storetest.AwkwardNames()
	for range testkit.Size(500, 500_000) {
		names = append(names, randomName(rng))
	}
	bySlug := map[string]string{}
	var refs []string
	for _, name := range names {
		if layout.CheckName("a tape", name) != nil {
			t.Errorf("the name %.60q is refused", name)
			continue
		}
		slug := layout.TapeSlug(name)
		if other, taken := bySlug[fold(slug)]; taken && other != name {
			t.Errorf("%.60q and %.60q both get %s", name, other, slug)
		}
		bySlug[fold(slug)] = name
		ref := layout.BranchPrefix + slug
		if err := gitstore.CheckRefName(ref); err != nil {
			t.Errorf("%.60q: %v", name, err)
		}
		if len(slug) > layout.SlugLimit || !utf8.ValidString(slug) {
			t.Errorf("%.60q gets a slug of %d bytes, %q", name, len(slug), slug)
		}
		for _, file := range []string{slug, layout.FolderName(1, name)} {
			if !filepath.IsLocal(file) || strings.ContainsAny(file, `/\:`) || file[0] == '-' || file[0] == '.' {
				t.Errorf("%.60q gets the folder %q", name, file)
			}
		}
		if seq, _, ok := layout.ParseFolder(layout.FolderName(1234, name)); !ok || seq != 1234 {
			t.Errorf("%.60q gets the folder %q, which does not parse", name, layout.FolderName(1234, name))
		}
		if len(refs) < 400 {
			refs = append(refs, ref, layout.TagPrefix+slug+"/"+layout.FolderName(7, name), layout.ArchivePrefix+slug+"/x")
		}
	}
	for _, ref := range refs {
		if out, err := exec.Command("git", "check-ref-format", ref).CombinedOutput(); err != nil {
			t.Errorf("git refuses %q: %v%s", ref, err, out)
		}
	}
}

// TestAwkwardNames makes tapes and phases of them.
func TestAwkwardNames(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	made := map[string]bool{"main": true}
	names := storetest.AwkwardNames()
	for i, name := range names {
		if testing.Short() && i%4 != 0 && !strings.Contains(name, "..") || made[name] {
			continue
		}
		made[name] = true
		tp, err := s.CreateTape(t.Context(), name)
		if err != nil {
			t.Fatalf("create %.60q: %v", name, err)
		}
		if _, err := s.CreateTape(t.Context(), name); !errors.Is(err, repo.ErrConflict) {
			t.Errorf("creating %.60q twice: %v", name, err)
		}
		if i%5 == 0 {
			storetest.Append(t, tp, repo.Message("user", name))
			h, err := tp.Handoff(t.Context(), repo.Anchor{Name: name, Summary: name})
			if err != nil {
				t.Fatalf("handoff to %.60q: %v", name, err)
			}
			if got := storetest.Entries(t, tp, repo.Query{After: name}); len(got) != 0 {
				t.Errorf("%d entries behind %.60q", len(got), name)
			}
			if got := storetest.Entries(t, storetest.Tape(t, s, name), repo.Query{Phase: name}); len(got) != 1 || got[0].Anchor != name || got[0].ID != h.Entry {
				t.Errorf("the phase %.60q reads %q", name, storetest.Lines(got))
			}
		}
	}
	all, err := storetest.Reopen(t, s.Dir()).Tapes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tp := range all {
		if !made[tp.Name()] {
			t.Errorf("there is a tape %.60q that nobody made", tp.Name())
		}
		delete(made, tp.Name())
	}
	for name := range made {
		t.Errorf("the tape %.60q is not listed", name)
	}
	if files, err := filepath.Glob(filepath.Join(filepath.Dir(s.Dir()), "*")); err != nil || len(files) != 1 {
		t.Errorf("beside the workspace there is %q, %v", files, err)
	}
}

func TestRefusedNames(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "")
	for _, name := range []string{"", "\xff", "a\xc3", strings.Repeat("x", 65<<10)} {
		_, err := s.CreateTape(t.Context(), name)
		storetest.WantIs(t, err, repo.ErrInvalid)
		_, err = tp.Handoff(t.Context(), repo.Anchor{Name: name})
		storetest.WantIs(t, err, repo.ErrInvalid)
	}
	if got := len(storetest.Entries(t, tp, repo.Query{})); got != 1 {
		t.Errorf("refused names left %d entries", got-1)
	}
}

// TestLongAnchorNames: a name too long for the writer's note changes nothing.
func TestLongAnchorNames(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "")
	name := strings.Repeat("長い\n", 8000)
	storetest.Handoff(t, tp, name)
	for i := range 3 {
		if e := storetest.Append(t, tp, repo.Message("user", fmt.Sprint(i)))[0]; e.Anchor != name {
			t.Errorf("the entry says that it belongs to %.20q", e.Anchor)
		}
	}
	errStop := errors.New("stop")
	_, err := tp.Update(t.Context(), func(tx *repo.Tx) error {
		if _, err := tx.Handoff(t.Context(), repo.Anchor{Name: name}); err != nil {
			return err
		}
		// What a crash would leave is seen by nobody.
		if got := len(storetest.Entries(t, storetest.Tape(t, storetest.Reopen(t, s.Dir()), ""), repo.Query{})); got != 5 {
			t.Errorf("a reader sees %d entries of a change half done, want 5", got)
		}
		return errStop
	})
	storetest.WantIs(t, err, errStop)
	if got := len(storetest.Entries(t, tp, repo.Query{})); got != 5 {
		t.Errorf("%d entries after a change was given up, want 5", got)
	}
}
