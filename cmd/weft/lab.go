package main

// A labCommand is weft lab.
type labCommand struct {
	opts    *options
	out     *printer
	project *project
	fabric  *fabric
}

// A rehearseCommand is weft rehearse.
type rehearseCommand struct {
	opts     *options
	out      *printer
	project  *project
	fabric   *fabric
	planner  *planner
	executor *executor
}
