;; mtlm-dag for GNU Guix, built from the source tree that this file stands in:
;;
;;     guix build -f launch/package.d/guix.scm
;;
;; StarPU and inih are defined here, since Guix itself has neither StarPU 1.4
;; with the change that mtlm-dag wants, nor inih.

(use-modules (guix build-system gnu)
             (guix build-system meson)
             (guix download)
             (guix gexp)
             (guix git-download)
             ((guix licenses) #:prefix license:)
             (guix packages)
             (guix utils)
             (gnu packages)
             (ice-9 regex)
             (ice-9 textual-ports))

;; The source tree.
(define %tree
  (string-append (current-source-directory) "/../.."))

;; The version in configure.ac.
(define %version
  (match:substring
   (string-match "AC_INIT\\(\\[mtlm-dag\\], \\[([^]]*)\\]"
                 (call-with-input-file (string-append %tree "/configure.ac")
                   get-string-all))
   1))

(define hwloc-lib
  (list (specification->package "hwloc") "lib"))

(define inih
  (package
    (name "inih")
    (version "58")
    (source (origin
              (method url-fetch)
              (uri (string-append "https://github.com/benhoyt/inih/archive/"
                                  "refs/tags/r" version ".tar.gz"))
              (file-name (string-append name "-" version ".tar.gz"))
              (sha256
               (base32
                "1dx79qs4c6sw4z9057xvn8vpgv0fmd4bwh58pl4yizsx1lk1d4p7"))))
    (build-system meson-build-system)
    (arguments '(#:configure-flags '("-Dwith_INIReader=false")))
    (home-page "https://github.com/benhoyt/inih")
    (synopsis "Parser of INI files")
    (description "inih is a parser of INI files in C.")
    (license license:bsd-3)))

(define starpu
  (package
    (name "starpu")
    (version "1.4.10")
    (source (origin
              (method url-fetch)
              (uri (string-append "https://files.inria.fr/starpu/starpu-"
                                  version "/starpu-" version ".tar.gz"))
              (sha256
               (base32
                "00xgz9harv7ji764y60yj8jdaia83crzdd2zxzjhk8bv6ffgadcg"))
              (patches
               (list (local-file "../starpu/idle-yield.patch")))))
    (build-system gnu-build-system)
    ;; The options of launch/setup.d/starpu.sh, without FxT and StarPU-MPI.
    (arguments
     '(#:tests? #f
       #:configure-flags
       '("--disable-build-doc" "--disable-build-examples"
         "--disable-build-tests" "--disable-opencl" "--disable-hip"
         "--disable-cuda" "--disable-mpi" "--disable-fortran" "--disable-starpufft"
         "--disable-mlr" "--disable-static" "--disable-valgrind"
         "--disable-glpk" "--disable-papi" "--without-x" "--disable-gdb"
         "--disable-full-gdb-information" "--enable-fast"
         "--enable-maxcpus=64" "--enable-maxnodes=16"
         "--enable-maxbuffers=16")))
    (native-inputs (list (specification->package "pkg-config")))
    (propagated-inputs (list hwloc-lib))
    (home-page "https://starpu.gitlabpages.inria.fr/")
    (synopsis "Runtime system for task graphs on heterogeneous machines")
    (description "StarPU schedules the tasks of a graph on the processors and
accelerators of a machine, and moves their data.")
    (license license:lgpl2.1+)))

(package
  (name "mtlm-dag")
  (version %version)
  (source (local-file %tree "mtlm-dag-source"
                      #:recursive? #t
                      #:select? (or (git-predicate %tree)
                                    (lambda _ #t))))
  (build-system gnu-build-system)
  (arguments
   ;; The tests train whole jobs for minutes, beside PyTorch.
   '(#:tests? #f
     #:configure-flags '("--enable-portable" "--without-cuda")))
  (native-inputs
   (map specification->package '("autoconf" "automake" "pkg-config")))
  (inputs
   (append (list inih starpu hwloc-lib)
           (map specification->package
                '("glpk" "jansson" "liburing" "openblas" "utf8proc" "xxhash"))))
  ;; mtlm-run calls mpirun and setpriv, mtlm-compare Python: by name.
  (propagated-inputs
   (map specification->package '("openmpi" "python" "util-linux")))
  (home-page "https://starpu.gitlabpages.inria.fr/")
  (synopsis "Trains GPT and BERT as one task graph on StarPU and MPI")
  (description "mtlm-dag trains transformers with tensor, pipeline and data
parallelism.  An iteration is plain gradient accumulation, written as one
task graph per rank.  Schedules arise from dependencies, windows, priorities
and the scheduling policy of StarPU.")
  (license license:bsd-3))
