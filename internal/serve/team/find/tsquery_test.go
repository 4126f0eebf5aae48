package find

import (
	"testing"

	"tape/internal/text/query"
)

// TestTSQuery: any query becomes a condition that selects at least the entries that match the query.
func TestTSQuery(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"timeout":               "'timeout'",
		"timeout retry":         "('timeout' & 'retry')",
		"redis OR memcached":    "('redis' | 'memcached')",
		"timeo*":                "'timeo':*",
		"a -b":                  "('a' & !'b')",
		"-b":                    "!'b'",
		`it's`:                  "('it' & 's')",
		`\`:                     "",
		"':* & (":               "",
		"数据库":                   "('数据' & '据库')",
		"(a OR b":               "('a' | 'b')",
		`"connection reset" -x`: "(('connection' & 'reset') & !'x')",
	} {
		e, _ := query.Parse(text, query.Options{}).Index()
		if got, none := tsquery(e); got != want && want != "" || none {
			t.Errorf("%s: %s, none %v; want %s", text, got, none, want)
		}
	}
}

func TestTSQueryOfNothing(t *testing.T) {
	t.Parallel()
	a, none, all := query.Expr{Op: query.Term, Term: "a"}, query.Expr{Op: query.None}, query.Expr{Op: query.All}
	of := func(op query.Op, kids ...query.Expr) query.Expr { return query.Expr{Op: op, Operands: kids} }
	for _, c := range []struct {
		e    query.Expr
		want string
		none bool
	}{
		{none, "", true}, {all, "", false}, {of(query.And, a, none), "", true}, {of(query.And, a, all), "'a'", false},
		{of(query.Or, a, none), "'a'", false}, {of(query.Or, a, all), "", false}, {of(query.Or, none, none), "", true},
		{of(query.Not, a, none), "'a'", false}, {of(query.Not, a, all), "", true}, {of(query.Not, all, a), "!'a'", false},
	} {
		if got, none := tsquery(c.e); got != c.want || none != c.none {
			t.Errorf("%+v: %q, none %v; want %q, none %v", c.e, got, none, c.want, c.none)
		}
	}
}
