package record

import (
	"strings"
	"testing"
)

// Each node comes after its parent, abandoned branches come before the one that was continued, and no node is lost.
func TestTree(t *testing.T) {
	for _, c := range []struct{ nodes, leaf, want string }{
		{"a b:a c:b", "c", "a b c"},
		{"a b:a c:a d:c", "d", "a -b c d"},
		{"a b:a c:a d:b", "b", "a -c b -d"},
		{"a b:a c:a d:b", "", "a -c b d"},
		{"c:b b:a a", "c", "a b c"},
		{"a b:nowhere c:b", "c", "-a b c"},
		{"a:b b:a c:a", "c", "a b c"},
		{"a:a b:a", "b", "a b"},
		{"a b:a b:a", "b", "-b a b"},
		{"", "x", ""},
	} {
		var nodes []Node
		for _, word := range strings.Fields(c.nodes) {
			id, parent, _ := strings.Cut(word, ":")
			nodes = append(nodes, Node{ID: id, Parent: parent})
		}
		var got []string
		for _, n := range Tree(nodes, c.leaf) {
			if n.Fork != "" {
				n.ID = "-" + n.ID
			}
			got = append(got, n.ID)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s to %q: %s, want %s", c.nodes, c.leaf, strings.Join(got, " "), c.want)
		}
	}
}
