/*
 * Call kernels of a shared library from Python: one builtin function for each kernel.
 *
 * A call flattens its arguments into slots of 64 bits, and writes a code for each argument: see `encode` in signatures.py.
 * The code chooses the machine code. A call of other types goes to the fallback, which compiles the kernel.
 *
 * Only Python's stable ABI is used. NumPy's arrays are read by the fields of its header, which never moved.
 */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/ndarraytypes.h>
#include <stdint.h>
#include <string.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif
#if defined(__x86_64__) && !defined(_WIN32)
#include <cpuid.h>
#endif

#define MAX_SLOTS 256 /* a build refuses signatures that need more */
#define MAX_CODE 512
#define MAX_DIMENSIONS 3
#define MAX_RESULTS 16

typedef int32_t (*Function)(const int64_t *slots, void *result);

typedef struct Signature {
    struct Signature *next;
    Function function;
    size_t n_code;
    char result; /* n none, i int64, b bool, f float64, or the number of int64 of a tuple */
    char holds_gil;
    char code[];
} Signature;

typedef struct {
    PyMethodDef method;
    Signature *signatures;
    PyObject *fallback;
} Kernel;

typedef struct {
    int64_t slots[MAX_SLOTS];
    char code[MAX_CODE];
    int n_slots, n_code;
} Flat;

static PyTypeObject *array_type, *float64_type, *bool_type, *signed_type, *uint64_type;

/* Return the kind and the size of the entries of an array as two characters, NULL for types that kernels lack. */
static const char *describe_entry(PyArray_Descr *descr)
{
    if (descr->byteorder == '>' || descr->byteorder == '<') return NULL; /* not the byte order of this machine */
    switch (descr->type_num) {
        case NPY_BOOL: return "b1";
        case NPY_BYTE: return "i1";
        case NPY_UBYTE: return "u1";
        case NPY_SHORT: return "i2";
        case NPY_USHORT: return "u2";
        case NPY_INT: return "i4";
        case NPY_UINT: return "u4";
        case NPY_LONG: return sizeof(long) == 8 ? "i8" : "i4";
        case NPY_ULONG: return sizeof(long) == 8 ? "u8" : "u4";
        case NPY_LONGLONG: return "i8";
        case NPY_ULONGLONG: return "u8";
        case NPY_FLOAT: return "f4";
        case NPY_DOUBLE: return "f8";
        default: return NULL;
    }
}

static int flatten_array(PyArrayObject_fields *array, Flat *flat)
{
    const char *entry = describe_entry(array->descr);
    if (!entry || !(array->flags & NPY_ARRAY_ALIGNED) || array->nd > MAX_DIMENSIONS) return -1;
    char layout = array->flags & NPY_ARRAY_C_CONTIGUOUS ? 'C' : array->flags & NPY_ARRAY_F_CONTIGUOUS ? 'F' : 'A';
    char *code = flat->code + flat->n_code;
    code[0] = entry[0];
    code[1] = entry[1];
    code[2] = (char)('0' + array->nd);
    code[3] = layout;
    flat->n_code += 4;
    flat->slots[flat->n_slots++] = (int64_t)(intptr_t)array->data;
    for (int d = 0; d < array->nd; d++) flat->slots[flat->n_slots++] = array->dimensions[d];
    if (layout != 'C')
        for (int d = 0; d < array->nd; d++) flat->slots[flat->n_slots++] = array->strides[d];
    return 0;
}

static int add_number(Flat *flat, char code, int64_t bits)
{
    flat->code[flat->n_code++] = code;
    flat->slots[flat->n_slots++] = bits;
    return PyErr_Occurred() ? -1 : 0; /* an int that does not fit into 64 bits */
}

/* Return 0 if the argument was flattened, -1 if no machine code takes its type. */
static int flatten(PyObject *argument, Flat *flat)
{
    if (flat->n_slots > MAX_SLOTS - 2 * MAX_DIMENSIONS - 1 || flat->n_code > MAX_CODE - 6) return -1;
    PyTypeObject *type = Py_TYPE(argument);
    if (type == array_type || PyType_IsSubtype(type, array_type))
        return flatten_array((PyArrayObject_fields *)argument, flat);
    if (type == &PyLong_Type) return add_number(flat, 'i', PyLong_AsLongLong(argument));
    if (type == &PyBool_Type || type == bool_type) return add_number(flat, 'b', PyObject_IsTrue(argument));
    if (type == &PyFloat_Type || type == float64_type) {
        double value = PyFloat_AsDouble(argument);
        int64_t bits;
        memcpy(&bits, &value, sizeof bits);
        return add_number(flat, 'f', bits);
    }
    if (argument == Py_None) {
        flat->code[flat->n_code++] = 'n';
        return 0;
    }
    if (PyTuple_Check(argument)) {
        Py_ssize_t size = PyTuple_Size(argument);
        flat->code[flat->n_code++] = '(';
        for (Py_ssize_t i = 0; i < size; i++)
            if (flatten(PyTuple_GetItem(argument, i), flat)) return -1;
        flat->code[flat->n_code++] = ')';
        return 0;
    }
    if (type == uint64_type || PyType_IsSubtype(type, signed_type)) {
        PyObject *number = PyNumber_Index(argument);
        if (!number) return -1;
        int64_t bits = type == uint64_type ? (int64_t)PyLong_AsUnsignedLongLong(number) : PyLong_AsLongLong(number);
        Py_DecRef(number);
        return add_number(flat, type == uint64_type ? 'u' : 'i', bits);
    }
    return -1;
}

static PyObject *make_result(char kind, const int64_t *result)
{
    double value;
    switch (kind) {
        case 'n': Py_RETURN_NONE;
        case 'i': return PyLong_FromLongLong(result[0]);
        case 'b': return PyBool_FromLong(*(const char *)result);
        case 'f': memcpy(&value, result, sizeof value); return PyFloat_FromDouble(value);
    }
    PyObject *tuple = PyTuple_New(kind - '0');
    for (int i = 0; tuple && i < kind - '0'; i++) PyTuple_SetItem(tuple, i, PyLong_FromLongLong(result[i]));
    return tuple;
}

static PyObject *call(PyObject *self, PyObject *const *arguments, Py_ssize_t n)
{
    Kernel *kernel = PyCapsule_GetPointer(self, NULL);
    Flat flat;
    flat.n_slots = flat.n_code = 0;
    Signature *signature = kernel->signatures;
    for (Py_ssize_t i = 0; i < n && signature; i++)
        if (flatten(arguments[i], &flat)) {
            PyErr_Clear();
            signature = NULL;
        }
    while (signature && (signature->n_code != (size_t)flat.n_code || memcmp(signature->code, flat.code, flat.n_code)))
        signature = signature->next;
    if (!signature) {
        PyObject *all = PyTuple_New(n);
        if (!all) return NULL;
        for (Py_ssize_t i = 0; i < n; i++) {
            Py_IncRef(arguments[i]);
            PyTuple_SetItem(all, i, arguments[i]);
        }
        PyObject *value = PyObject_Call(kernel->fallback, all, NULL);
        Py_DecRef(all);
        return value;
    }
    int64_t result[MAX_RESULTS] = {0};
    int32_t status;
    if (signature->holds_gil) {
        status = signature->function(flat.slots, result);
    } else {
        PyThreadState *state = PyEval_SaveThread();
        status = signature->function(flat.slots, result);
        PyEval_RestoreThread(state);
    }
    if (status != 0 && status != -2) { /* kernels raise nothing themselves: an array could not be made */
        PyErr_Format(PyExc_MemoryError, "kernel %s could not allocate its arrays", kernel->method.ml_name);
        return NULL;
    }
    return make_result(signature->result, result);
}

static void *find_symbol(void *library, const char *name)
{
#ifdef _WIN32
    return (void *)GetProcAddress((HMODULE)library, name);
#else
    return dlsym(library, name);
#endif
}

static PyObject *open_library(PyObject *module, PyObject *path)
{
    (void)module;
#ifdef _WIN32
    wchar_t *name = PyUnicode_AsWideCharString(path, NULL);
    if (!name) return NULL;
    void *library = (void *)LoadLibraryW(name);
    PyMem_Free(name);
    if (!library) return PyErr_SetFromWindowsErr(0);
#else
    PyObject *name = PyUnicode_EncodeFSDefault(path);
    if (!name) return NULL;
    void *library = dlopen(PyBytes_AsString(name), RTLD_NOW | RTLD_LOCAL);
    Py_DecRef(name);
    if (!library) {
        PyErr_SetString(PyExc_OSError, dlerror());
        return NULL;
    }
#endif
    return PyLong_FromVoidPtr(library);
}

static void free_kernel(PyObject *capsule)
{
    Kernel *kernel = PyCapsule_GetPointer(capsule, NULL);
    for (Signature *signature = kernel->signatures; signature;) {
        Signature *next = signature->next;
        PyMem_Free(signature);
        signature = next;
    }
    Py_XDECREF(kernel->fallback);
    PyMem_Free((void *)kernel->method.ml_name);
    PyMem_Free(kernel);
}

/* make_kernel(name, library, signatures, fallback): a signature is [code, symbol, result, holds_gil] */
static PyObject *make_kernel(PyObject *module, PyObject *arguments)
{
    (void)module;
    const char *name;
    PyObject *handle, *rows, *fallback;
    if (!PyArg_ParseTuple(arguments, "sOOO", &name, &handle, &rows, &fallback)) return NULL;
    void *library = PyLong_AsVoidPtr(handle);
    Kernel *kernel = PyMem_Calloc(1, sizeof(Kernel));
    char *own_name = PyMem_Malloc(strlen(name) + 1);
    if (!kernel || !own_name) return PyErr_NoMemory();
    kernel->method.ml_name = strcpy(own_name, name);
    kernel->method.ml_meth = (PyCFunction)(void (*)(void))call;
    kernel->method.ml_flags = METH_FASTCALL;
    Py_IncRef(fallback);
    kernel->fallback = fallback;
    PyObject *capsule = PyCapsule_New(kernel, NULL, free_kernel), *function = NULL;
    if (!capsule) return NULL;
    for (Py_ssize_t i = PyList_Size(rows); i-- > 0;) { /* each goes to the front: the first row is tried first */
        const char *code, *symbol, *result;
        int holds_gil;
        PyObject *row = PySequence_Tuple(PyList_GetItem(rows, i));
        Signature *signature = NULL;
        int is_parsed = row && PyArg_ParseTuple(row, "sssp", &code, &symbol, &result, &holds_gil);
        if (is_parsed) signature = PyMem_Calloc(1, sizeof(Signature) + strlen(code));
        if (signature) {
            signature->n_code = strlen(code);
            memcpy(signature->code, code, signature->n_code);
            signature->result = result[0];
            signature->holds_gil = (char)holds_gil;
            signature->function = (Function)find_symbol(library, symbol);
            signature->next = kernel->signatures;
            kernel->signatures = signature;
            if (!signature->function)
                PyErr_Format(PyExc_LookupError, "the library of %s has no symbol %s", name, symbol);
        } else if (is_parsed) {
            PyErr_NoMemory();
        }
        Py_XDECREF(row);
        if (PyErr_Occurred()) goto done;
    }
    function = PyCFunction_New(&kernel->method, capsule);
done:
    Py_DecRef(capsule);
    return function;
}

/* processor_level(): 4, 3 or 2 for x86-64-v4, v3 and v2, 1 for older ones, 0 on other machines */
static PyObject *processor_level(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    long level = 0;
#if defined(__x86_64__) && !defined(_WIN32)
    unsigned a, b, c, d, b7 = 0, c1 = 0, low = 0, high;
    level = 1;
    __cpuid_count(1, 0, a, b, c, d);
    unsigned c0 = c;
    if (__get_cpuid_max(0, NULL) >= 7) __cpuid_count(7, 0, a, b7, c, d);
    if (__get_cpuid_max(0x80000000, NULL) >= 0x80000001) __cpuid_count(0x80000001, 0, a, b, c1, d);
    if (c0 & bit_OSXSAVE) __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    const unsigned v2 = bit_SSE3 | bit_SSSE3 | bit_CMPXCHG16B | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT;
    const unsigned v3 = bit_FMA | bit_MOVBE | bit_OSXSAVE | bit_AVX | bit_F16C;
    const unsigned v3_b = bit_AVX2 | bit_BMI | bit_BMI2;
    const unsigned v4_b = bit_AVX512F | bit_AVX512DQ | bit_AVX512CD | bit_AVX512BW | bit_AVX512VL;
    if ((c0 & v2) == v2 && (c1 & 1)) level = 2; /* LAHF */
    if (level == 2 && (c0 & v3) == v3 && (b7 & v3_b) == v3_b && (c1 & bit_LZCNT) && (low & 6) == 6) level = 3;
    if (level == 3 && (b7 & v4_b) == v4_b && (low & 0xe6) == 0xe6) level = 4;
#endif
    return PyLong_FromLong(level);
}

static PyMethodDef methods[] = {
    {"open_library", open_library, METH_O, "Open a shared library, and return its handle."},
    {"make_kernel", make_kernel, METH_VARARGS, "Return a builtin function for a kernel."},
    {"processor_level", processor_level, METH_NOARGS, "Return the level of this processor."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_trampoline", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__trampoline(void)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (!numpy) return NULL;
    struct {
        const char *name;
        PyTypeObject **type;
    } types[] = {
        {"ndarray", &array_type},       {"float64", &float64_type}, {"bool_", &bool_type},
        {"signedinteger", &signed_type}, {"uint64", &uint64_type},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!(*types[i].type = (PyTypeObject *)PyObject_GetAttrString(numpy, types[i].name))) return NULL;
    Py_DecRef(numpy);
    return PyModule_Create(&definition);
}
