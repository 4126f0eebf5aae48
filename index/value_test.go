package index

import (
	"encoding/json"
	"reflect"
	"testing"

	"tape/internal/testkit"
	"tape/repo"
)

// TestSearchIsAValue: a search can be sent as JSON to another process, which gives the same answer.
func TestSearchIsAValue(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	tp, other := openTape(t, s, ""), newTape(t, s, "other")
	mustAppend(t, tp, repo.Message("user", "a needle"), repo.Message("assistant", "a needle, too"), repo.Event("needle", nil))
	mustAppend(t, other, repo.Message("user", "another needle"))
	asked := Search{Text: "needle", Tapes: named(tp), Newest: true, Query: repo.Query{Kinds: []string{repo.KindMessage}, Roles: []string{"user"}, Authors: []string{"@"},
		Since: testkit.Clock().UTC().AddDate(-1, 0, 0), Limit: repo.N(5)}}
	sent, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	var got Search
	if err := json.Unmarshal(sent, &got); err != nil || !reflect.DeepEqual(got, asked) {
		t.Errorf("decoded %+v (%v), want %+v", got, err, asked)
	}
	wantIDs(t, "the decoded search", mustSearch(t, testIndex(t, s), got).Hits, 2)
}
