/*
 * The functions of Numba's run time that machine code calls: see RUNTIME in native_object.py.
 *
 * The layout of memory is that of Numba's MemInfo. Machine code counts the references itself, and frees at 0.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    size_t references;
    void *destructor, *destructor_info, *data;
    size_t size;
    void *allocator;
} Memory;

void *NRT_MemInfo_alloc_aligned(size_t size, uint32_t align)
{
    if (size > SIZE_MAX / 2) return NULL;
    Memory *memory = malloc(sizeof(Memory) + size + 2 * (size_t)align);
    if (!memory) return NULL;
    uintptr_t start = (uintptr_t)(memory + 1);
    *memory = (Memory){1, NULL, NULL, (void *)(align ? (start + align - 1) / align * align : start), size, NULL};
    return memory;
}

void NRT_MemInfo_call_dtor(void *memory) { free(memory); }

double numba_nextafter(double value, double target) { return nextafter(value, target); }

float numba_nextafterf(float value, float target) { return nextafterf(value, target); }
