// Package about says what a tape is about: title, agent, model, project, dates, counts, authors.
// All of it follows from the entries in order, so it can be saved, and updated with later
// entries.
package about
