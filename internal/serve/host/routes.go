package host

import (
	"net/http"
	"reflect"
	"slices"

	"tape/internal/serve/host/api"
	"tape/internal/serve/host/openapi"
)

// route is an endpoint; the server and its document are made of these.
type route = openapi.Endpoint[*request]

type param = openapi.Param

func of[T any]() reflect.Type { return reflect.TypeFor[T]() }

var ( //nolint:gochecknoglobals // the parameters of several routes
	conversation = []param{{"conversation_id", "string", "a run's own if missing"}, {"thread_id", "string", "one thread of it"}}
	pageParams   = append(slices.Clone(conversation), param{"before_cursor", "string", "what is older"}, param{"after_cursor", "string", "what is newer, the oldest first"},
		param{"limit", "integer", "50, at most 100"}, param{"direction", "string", "backward, the newest first, or forward"})
	owner = append(slices.Clone(conversation), param{"owner", "string", "of scopes other than conversation: whose state, for the admin"})
)

func routes() []route {
	return slices.Concat(runRoutes(), readRoutes(), keepRoutes(), tapeRoutes())
}

func runRoutes() []route {
	return []route{
		{Method: "POST", Path: "/runs", Summary: "Start a run", Admin: true, Key: true, Code: http.StatusCreated, Body: of[api.RunRequest](), Answer: of[api.RunStarted](), Do: startRun},
		{Method: "GET", Path: "/runs/{run_id}", Summary: "A run as it is", Ended: true, Answer: of[api.RunAnswer](), Do: getRun},
		{Method: "POST", Path: "/runs/{run_id}/results", Summary: "Tell results, in batches", Ended: true, Ends: true, Body: of[api.ResultsRequest](), Answer: of[api.ResultsAnswer](), Do: postResults},
		{Method: "POST", Path: "/runs/{run_id}/cancel", Summary: "Cancel a run", Ends: true, Answer: of[api.RunAnswer](), Do: cancelRun},
		{Method: "POST", Path: "/runs/{run_id}/heartbeat", Summary: "Keep the token alive", Answer: of[api.RunAnswer](), Do: heartbeat},
		{Method: "POST", Path: "/runs/{run_id}/steering", Summary: "Say something to a run", Admin: true, Body: of[api.SteerRequest](), Answer: of[api.SteerAnswer](), Do: steer},
		{Method: "POST", Path: "/runs/{run_id}/steering/pull", Summary: "What was said, once", Answer: of[api.SteerPulled](), Do: pullSteering},
		{Method: "GET", Path: "/runs/{run_id}/events", Summary: "Follow a run until it is over", Ended: true, Media: "text/event-stream",
			Query: []param{{"after_cursor", "string", "as Last-Event-ID"}}, Do: runEvents},
	}
}

func readRoutes() []route {
	types := param{"types", "string", "kinds of entries or names of events, with commas between"}
	return []route{
		{Method: "GET", Path: "/history", Summary: "A page of the transcript", Scope: "history.page", Answer: of[api.Page](), Do: history,
			Query: append(slices.Clone(pageParams), param{"include_attachments", "boolean", "binary content, too"})},
		{Method: "GET", Path: "/history/search", Summary: "Search the transcript", Scope: "history.search", Answer: of[api.Hits](), Do: searchHistory,
			Query: append(slices.Clone(conversation), param{"q", "string", "words, \"a phrase\", -not, OR, prefix*"}, param{"top_k", "integer", "10, at most 50"},
				param{"event_types", "string", "kinds of entries or names of events, with commas between; a run needs events.read, too"},
				param{"include_artifacts", "boolean", "false: neither texts of artifacts nor references to them"},
				param{"filters", "string", `a JSON object of "kinds", "roles", "authors", "since", "until", "event_types", "conversation_id", "include_artifacts"`})},
		{Method: "GET", Path: "/events", Summary: "A page of all entries", Scope: "events.read", Answer: of[api.EventPage](), Do: events,
			Query: append(slices.Clone(pageParams), types)},
		{Method: "GET", Path: "/events/stream", Summary: "Follow all entries", Scope: "events.read", Media: "text/event-stream", Do: eventStream,
			Query: append(slices.Clone(conversation), types, param{"after_cursor", "string", "as Last-Event-ID"})},
		{Method: "GET", Path: "/events/{event_id}", Summary: "One entry", Scope: "events.read", Answer: of[api.EventItem](), Do: oneEvent, Query: conversation},
		{Method: "GET", Path: "/static/{sha256}", Summary: "Static content of a run", Answer: of[api.StaticAnswer](), Do: getStatic},
	}
}

func keepRoutes() []route {
	return []route{
		{Method: "POST", Path: "/artifacts", Summary: "Keep a file: the body is its content", Scope: "artifacts.write", Code: http.StatusCreated, Raw: true,
			Answer: of[api.ArtifactAnswer](), Do: addArtifact,
			Query: append(slices.Clone(conversation), param{"name", "string", "what people call it"}, param{"expires_at", "string", "when runs stop seeing it"})},
		{Method: "GET", Path: "/artifacts/{artifact_id}", Summary: "What is known of a file", Scope: "artifacts.read", Answer: of[api.ArtifactAnswer](), Do: getArtifact, Query: conversation},
		{Method: "GET", Path: "/artifacts/{artifact_id}/content", Summary: "A file: all, a Range, or with offset or length a part as JSON", Scope: "artifacts.read",
			Answer: of[api.ArtifactPart](), Media: "*/*", Do: artifactContent,
			Query: append(slices.Clone(conversation), param{"offset", "integer", "where the part begins"}, param{"length", "integer", "at most 1 MiB"})},
		{Method: "GET", Path: "/state/{scope}", Summary: "A scope's keys and values", Scope: "state.read", Answer: of[api.StateList](), Do: listState,
			Query: append(slices.Clone(owner), param{"after_cursor", "string", "the next page"}, param{"limit", "integer", "at most 100"})},
		{Method: "GET", Path: "/state/{scope}/{key}", Summary: "A value", Scope: "state.read", Answer: of[api.StateAnswer](), Do: getState, Query: owner},
		{Method: "PUT", Path: "/state/{scope}/{key}", Summary: "Set a value: the body, any JSON", Scope: "state.write", Raw: true, Answer: of[api.StateAnswer](), Do: putState, Query: owner},
		{Method: "DELETE", Path: "/state/{scope}/{key}", Summary: "Remove a value", Scope: "state.write", Answer: of[api.Deleted](), Do: deleteState, Query: owner},
	}
}

func tapeRoutes() []route {
	return []route{
		{Method: "GET", Path: "/tapes", Summary: "The tapes that may be seen", Scope: "history.page", Answer: of[api.TapeList](), Do: tapes,
			Query: []param{{"after_cursor", "string", "the next page"}, {"limit", "integer", "at most 100"}}},
		{Method: "GET", Path: "/tapes/{tape}/anchors", Summary: "The anchors of a tape", Scope: "history.page", Answer: of[api.AnchorList](), Do: anchors},
		{Method: "GET", Path: "/tapes/{tape}/context", Summary: "The messages that the next call of a model gets", Scope: "history.page", Answer: of[api.ContextAnswer](), Do: tapeContext,
			Query: []param{{"max_tokens", "integer", "8000, at most 200000"}}},
		{Method: "POST", Path: "/tapes/{tape}/entries", Summary: "Append entries, all or none", Scope: "append", Key: true, Code: http.StatusCreated, Body: of[api.AppendRequest](), Answer: of[api.Appended](), Do: appendEntries},
		{Method: "POST", Path: "/tapes/{tape}/handoff", Summary: "Write an anchor", Scope: "append", Key: true, Code: http.StatusCreated, Body: of[api.HandoffRequest](), Answer: of[api.HandoffAnswer](), Do: handoff},
		{Method: "POST", Path: "/tapes/{tape}/fork", Summary: "Begin a fork", Scope: "fork", Key: true, Code: http.StatusCreated, Body: of[api.ForkRequest](), Answer: of[api.ForkAnswer](), Do: fork},
		{Method: "POST", Path: "/tapes/{tape}/merge", Summary: "Bring a fork back", Scope: "fork", Key: true, Body: of[api.CloseRequest](), Answer: of[api.CloseAnswer](), Do: mergeFork},
		{Method: "POST", Path: "/tapes/{tape}/discard", Summary: "Drop a fork", Scope: "fork", Key: true, Body: of[api.CloseRequest](), Answer: of[api.CloseAnswer](), Do: discardFork},
		{Method: "GET", Path: "/diff", Summary: "What two conversations do not share", Scope: "history.page", Answer: of[api.DiffAnswer](), Do: diff,
			Query: []param{{"a", "string", "a conversation"}, {"b", "string", "another"}}},
		{Method: "GET", Path: "/openapi.json", Summary: "This document", Open: true, Answer: of[map[string]any](), Do: func(c *request) (any, error) { return openapi.Document(c.s.Version, routes()) }},
		{Method: "GET", Path: "/health", Summary: "Whether the server answers", Open: true, Answer: of[api.Health](), Do: func(c *request) (any, error) { return api.Health{Status: "ok", Version: c.s.Version}, nil }},
	}
}
