package layout_test

import (
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"testing"
	"unicode/utf8"
)

// randomName joins pieces of which each is special to git or to some file system.
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

// fold returns what a name becomes on file systems that ignore case and encoding. It makes more names equal than
// any real file system.
func fold(s string) string {
	s = strings.NewReplacer("e\u0301", "e", "E\u0301", "e", "é", "e", "É", "e", "ß", "ss", "ẞ", "ss", "ﬁ", "fi", "ſ", "s", "K", "k", "Ω", "ω", "ς", "σ", "ı", "i", "i̇", "i").Replace(strings.ToLower(s))
	return strings.ToLower(strings.ToUpper(s))
}

// Different names have different branches and folders on every file system. Git accepts each slug, and none leads
// out of its folder.
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
