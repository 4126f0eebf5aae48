package host

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"tape/internal/serve/host/api"
)

// allScopes lists all scopes.
func allScopes() []string {
	return []string{"history.page", "history.search", "events.read", "artifacts.read", "artifacts.write", "state.read", "state.write",
		"append", "fork", "cross_conversation"}
}

// grantedScopes returns the scopes that manifest, policy and request all have, without those that the manifest gives up.
// A missing list means all scopes, but the request has to name cross_conversation.
func grantedScopes(q *api.RunRequest) ([]string, error) {
	out, without := allScopes(), givenUp(q.Manifest)
	out = slices.DeleteFunc(out, func(s string) bool {
		return s == "cross_conversation" && !slices.Contains(q.Scopes, s) || slices.Contains(without, s)
	})
	for _, list := range []*[]string{q.Manifest.Scopes, q.Policy.Scopes, &q.Scopes} {
		if list == nil || list == &q.Scopes && q.Scopes == nil {
			continue
		}
		for _, name := range *list {
			if !slices.Contains(allScopes(), name) {
				return nil, api.Invalid("there is no scope %.60q", name)
			}
		}
		out = slices.DeleteFunc(out, func(s string) bool { return !slices.Contains(*list, s) })
	}
	return out, nil
}

// payloadView returns a value as the run may see it.
type payloadView func(json.RawMessage) json.RawMessage

// givenAs returns the part of a request that the run's context repeats, as the run may see it. Of its config only
// what is Public.
func givenAs(q *api.RunRequest, view payloadView) (api.Given, error) {
	out := api.Given{Config: map[string]json.RawMessage{}}
	raw, err := json.Marshal(api.Given{Event: q.Event, Input: q.Input, Actor: q.Actor, Subject: q.Subject, Delivery: q.Delivery, Config: publicConfig(q.Config)})
	if err == nil {
		err = json.Unmarshal(view(raw), &out)
	}
	return out, err
}

const maxStatic = 1 << 20 // of a run, in bytes

// statics returns static contents as the run sees them, sorted by name. Their hashes are of what the run
// sees: the hash of the original would confirm a guess.
func statics(given map[string]json.RawMessage, view payloadView) ([]api.StaticAnswer, error) {
	var out []api.StaticAnswer
	size := 0
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := view(given[name])
		out = append(out, api.StaticAnswer{Name: name, SHA256: fmt.Sprintf("%x", sha256.Sum256(value)), Value: value})
		size += len(given[name])
	}
	if size > maxStatic {
		return nil, api.TooLarge("static", maxStatic)
	}
	return out, nil
}

// refOf returns the reference that can replace static content.
func refOf(s api.StaticAnswer) json.RawMessage {
	data, err := json.Marshal(map[string]string{"ref": "/v1/static/" + s.SHA256, "version": s.SHA256[:12], "sha256": s.SHA256})
	if err != nil {
		panic(err) // cannot happen: strings
	}
	return data
}
