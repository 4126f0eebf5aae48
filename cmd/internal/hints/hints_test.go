package hints

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"tape/internal/store/layout"
)

// kinds reads which kinds of hints there are.
func kinds(t *testing.T) map[layout.HintKind]bool {
	file, err := parser.ParseFile(token.NewFileSet(), "../../../internal/store/layout/hint.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[layout.HintKind]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil || out[layout.HintKind(text)] {
				t.Errorf("the kind %s: %v, or there are two of it", spec.Names[0], err)
			}
			out[layout.HintKind(text)] = true
		}
		return true
	})
	return out
}

func TestEachKindOfHintHasWords(t *testing.T) {
	known, all := kinds(t), words()
	if len(known) < 50 || len(known) != len(all) {
		t.Errorf("%d kinds of hints, but words for %d", len(known), len(all))
	}
	args := []string{"a b", "c", "d", "@4", "e"}
	for kind := range known {
		text := Text(layout.Hint{Kind: kind, Args: args})
		if all[kind] == "" || strings.ContainsAny(text, "{}[]") || strings.Contains(all[kind], "{1}") && !strings.Contains(text, "'a b'") {
			t.Errorf("%s: %q", kind, text)
		}
	}
}

func TestWordsOfHints(t *testing.T) {
	for _, c := range []struct {
		kind layout.HintKind
		args []string
		want string
	}{
		{"", nil, ""},
		{layout.ListTapes, []string{"it's {1}"}, `tape tapes lists them; tape new 'it'\''s {1}' creates it`},
		{layout.ListTapes, []string{"12"}, "tape tapes lists them"},
		{layout.CloseForks, []string{"try"}, "first merge or discard its forks: tape merge try, or tape discard try"},
		{layout.PullThenPush, []string{"origin"}, "run tape pull, which brings both together, then push again"},
		{layout.PullThenPush, []string{"team mate"}, "run tape pull 'team mate', which brings both together, then push again"},
		{layout.PurgeOrAllow, []string{"f", "a b", "c"}, "nothing was sent; if it is a secret, revoke it and remove it with: " +
			"tape purge --fingerprint f --tape 'a b'; if it is not one: --allow-secret f; tapes without secrets can be pushed before that: --tape c"},
		{layout.PurgeOrAllow, []string{"f", "", ""}, "nothing was sent; if it is a secret, revoke it and remove it with: " +
			"tape purge --fingerprint f; if it is not one: --allow-secret f"},
		{layout.PurgeInClone, []string{"/w", "r", "t", "@1 @2", "f", "g"}, "purge the same in a fresh clone of it: tape clone \"$(git -C /w remote get-url r)\" fresh && " +
			"tape --workspace fresh --tape t purge @1 @2 --whole --fingerprint f --fingerprint g --yes\nthen run the commands that this prints, and tape pull here"},
		{layout.PurgeInClone, []string{"/w", "r", "t", "", "f"}, "purge the same in a fresh clone of it: tape clone \"$(git -C /w remote get-url r)\" fresh && " +
			"tape --workspace fresh --tape t purge --fingerprint f --yes\nthen run the commands that this prints, and tape pull here"},
	} {
		for range 2 { // the first call must not change the hint
			if got := Text(layout.Hint{Kind: c.kind, Args: c.args}); got != c.want {
				t.Errorf("%s %q: %q, want %q", c.kind, c.args, got, c.want)
			}
		}
	}
	err := layout.Conflict("first", "no").Try(layout.CloseForks).Try(layout.RestoreLatest, "x")
	if got, want := Of(err), "first\nfirst merge or discard its forks\nif it was reset here, restore it with tape --tape x restore latest, then run tape pull"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
