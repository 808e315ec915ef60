# Check a folder of outputs before it is published, as `seepage check` does: the people are a data frame of R.

seepage_check <- function(folder, people, ids = "id", ...) {
  seepage_module()
  verdict <- reticulate::import("seepage.request")$check(folder, people = as_pandas(people), ids = ids, ...)
  structure(list(word = verdict$word, text = verdict$text(), verdict = verdict), class = "seepage_verdict")
}

print.seepage_verdict <- function(x, ...) {
  cat(x$text, sep = "\n")
  invisible(x)
}
